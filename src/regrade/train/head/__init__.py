"""A new last layer on stored embeddings: the objective, its solvers, the choice of the penalty, and what is stored."""
