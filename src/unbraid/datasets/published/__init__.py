"""Data sets that their owners publish as files: a data set is one file."""
