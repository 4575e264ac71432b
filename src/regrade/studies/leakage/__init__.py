"""Study of leakage: images of a test set with near duplicates in a training set, and their effect on accuracies."""
