"""Published datasets, read from their official files."""
