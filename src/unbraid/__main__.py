"""Command line: `python -m unbraid` is equivalent to `unbraid`."""

from unbraid.cli import main

if __name__ == "__main__":
    main()
