"""File formats, one to a file: bytes in, arrays out, and a DataError that names the file where it is not what it should
be.
"""
