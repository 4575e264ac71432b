"""Gates: rules that a candidate model must meet, with verdicts for continuous integration."""
