"""Version of the library, also read by the build."""

__version__ = "0.2.0"
"""Version of the library as a string."""
