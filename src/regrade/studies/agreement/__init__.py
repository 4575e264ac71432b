"""How far do the reviewers of a queue agree?"""
