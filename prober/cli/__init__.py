"""The `prober` command. Exit codes: `prober.cli.exits`."""

from prober.cli.app import main

__all__ = ["main"]
