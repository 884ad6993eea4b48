"""Published datasets, read from their official files. Each module defines one dataset."""
