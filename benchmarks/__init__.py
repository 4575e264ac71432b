"""Speed and memory compared with named baselines, measured side by side in one run."""
