"""Data sets that are drawn here: a data set is one file."""
