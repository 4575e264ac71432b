"""Study of people: people compared with models on the same images (Shankar et al. 2020)."""
