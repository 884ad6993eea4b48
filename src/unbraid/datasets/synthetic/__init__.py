"""Synthetic datasets, drawn by this package."""
