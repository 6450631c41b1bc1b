"""What Rondel costs beside the bare loop and beside its peers, always as ratios in one run."""

import os

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""A process that compiles every module again shows nothing of how fast a command starts."""
