"""A second, honest grading of image classifiers."""
