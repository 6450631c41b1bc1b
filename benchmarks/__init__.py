"""What Rondel costs, always as a ratio to the bare Python loop in the same run."""
