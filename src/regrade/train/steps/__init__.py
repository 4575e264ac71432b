"""The steps of a training, each a command: train the members of an ensemble, and store what was captured."""
