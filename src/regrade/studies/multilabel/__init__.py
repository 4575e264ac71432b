"""Study of multi-label accuracy: what counting every right label changes (Shankar et al. 2020)."""
