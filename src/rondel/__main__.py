"""`python -m rondel` is the command `rondel`."""

from rondel.cli import main

main()
