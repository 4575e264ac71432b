"""Study of a shift: whether the embeddings of a model tell the images of two test sets apart."""
