"""`python -m rondel` is the command `rondel`."""

import sys

from rondel.cli import main

sys.exit(main())
