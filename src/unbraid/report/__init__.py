"""Runs in, one page out."""
