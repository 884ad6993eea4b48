"""The version of the library, which the build reads too."""

__version__ = "0.2.0"
"""Version of the library as a string."""
