"""The `prober` command. Exit codes: `prober.cli.exits`."""

import sys

from prober.cli.exits import Exit

__all__ = ["main"]


def main() -> None:
    """Run the command line. Loading it takes a second, in which an interrupt must not show a traceback either."""
    try:
        from prober.cli.app import main as run  # noqa: PLC0415 - what is loaded here can be interrupted
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    run()
