"""`prober` whose service prunes its database more often: `python -m reliability.hurried SECONDS serve …`.

Six hours between two prunings are compressed as the lab's time is; all else is as shipped.
"""

import sys

from prober.cli import main
from prober.service import housekeeping


def hurry() -> None:
    """Take the first argument, and begin."""
    seconds = float(sys.argv.pop(1))
    housekeeping.FIRST_PRUNE_SECONDS = housekeeping.PRUNE_SECONDS = seconds
    main()


if __name__ == "__main__":
    hurry()
