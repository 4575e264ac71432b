"""Study of geography: how accuracy and progress vary by region, country or income (Richards et al. 2023)."""
