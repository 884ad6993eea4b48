"""Synthetic data sets, drawn by this package."""
