"""Reproductions: every table and figure of five papers as data, with one runner. It imports public names of unbraid only.

Runner, pages and items are the files of this folder and of `code/`, but for three files of `code/` that hold metrics, a
reader and a classifier: `latents.py`, `purity.py` and `digits.py`. These are counted apart.
"""
