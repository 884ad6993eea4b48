"""File formats: one module per format, which reads bytes and returns arrays.

A file that violates its format raises a DataError with the name of the file.
"""
