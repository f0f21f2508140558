"""The command line. ``app`` has the commands, ``display`` shows progress, ``answer`` what a command leaves on the terminal."""

from lab.cli.app import main

__all__ = ["main"]
