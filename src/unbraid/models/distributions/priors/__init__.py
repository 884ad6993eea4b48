"""Priors of codes."""
