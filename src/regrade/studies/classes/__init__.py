"""Study of classes: which classes a model gets right, and which it confuses."""
