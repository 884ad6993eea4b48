"""Reductions of codes that several metrics share."""
