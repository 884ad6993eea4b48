"""`python -m unbraid` is `unbraid`."""

from unbraid.cli import main

if __name__ == "__main__":
    main()
