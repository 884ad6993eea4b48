"""Predictors of factors and their training and test rows."""
