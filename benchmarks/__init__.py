"""What Rondel costs beside the bare loop and beside its peers, always as ratios in one run."""
