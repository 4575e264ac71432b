"""What goes with the accuracy of models: their year, size, training data and family."""
