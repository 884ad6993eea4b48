"""Intermediate results of codes that several metrics share."""
