"""The command line: one verb a file, each imported only when it is used."""

from rondel.cli.app import main

__all__ = ["main"]
