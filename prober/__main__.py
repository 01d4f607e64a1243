"""`python -m prober` is the `prober` command."""

from prober.cli import main

if __name__ == "__main__":
    main()
