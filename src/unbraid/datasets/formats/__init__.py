"""Readers of file formats: one module per format, with functions from bytes to arrays.

Invalid files raise a DataError with the name of the file.
"""
