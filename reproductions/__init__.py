"""Reproductions: every table and figure of five papers as data, with one runner. It imports public names of unbraid only.

Three files of `code/` hold metrics, a reader and a classifier: `latents.py`, `purity.py` and `digits.py`.
"""
