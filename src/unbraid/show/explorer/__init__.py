"""Runs or any decoder in, one HTML file out that decodes codes in the browser."""

from unbraid.show.explorer.explorer import write_explorer as write_explorer
