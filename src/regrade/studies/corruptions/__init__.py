"""Study of corruptions: errors by corruption, and mCE."""
