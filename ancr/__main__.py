"""`python -m ancr` is the command line."""

from ancr.cli import main

if __name__ == "__main__":
    main()
