"""Predictors of factors that metrics fit, and the rows that they are fitted and tested on."""
