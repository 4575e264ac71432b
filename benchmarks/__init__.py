"""Speed and memory against named rivals, measured side by side in one run."""
