"""The command line: verbs in files of their own, each imported only when it is used."""

from rondel.cli.app import main

__all__ = ["main"]
