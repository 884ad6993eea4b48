"""Templates of the HTML pages, and functions that fill them. Pages load no external scripts."""
