"""Reproductions: every table and figure of five papers as data, with one runner. It imports public names of unbraid only.

Runner, pages and items are the files of this folder and of `code/`, about 4,800 lines: 1,360 of runner and pages, 1,470 of
tables and 1,980 of the items' code. Three files of `code/` hold metrics, a reader and a classifier, and are counted apart
(490 lines): `latents.py`, `purity.py` and `digits.py`.
"""
