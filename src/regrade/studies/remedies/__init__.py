"""Remedies compared with their baseline."""
