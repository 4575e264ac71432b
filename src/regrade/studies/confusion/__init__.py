"""Study of confusion: which images confuse an ensemble, and are they hard for other models (Albiero et al. 2023)."""
