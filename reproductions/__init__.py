"""Reproductions: every table and figure of five papers as data, with one runner. It imports public names of unbraid only."""
