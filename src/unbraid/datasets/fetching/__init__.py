"""Download and verification of published files."""
