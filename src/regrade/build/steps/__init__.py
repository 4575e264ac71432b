"""The steps of a build, each a command: tasks, answers, frequencies, sample, freeze; and a simulation of all."""
