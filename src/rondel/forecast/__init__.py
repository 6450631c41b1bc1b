"""What a graph will probably do and cost: thousands of runs on simulated models."""
