"""`python -m structkit` is the same program as `structkit`."""

from structkit.cli import main

if __name__ == "__main__":
    main()
