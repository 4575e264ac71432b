"""Study of mistakes: which predictions are mistakes, their categories and severities (Vasudevan et al. 2022)."""
