"""Grades: accuracies of models and people with intervals."""
