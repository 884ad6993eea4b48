"""Interactive HTML page that decodes codes of runs, or of any decoder, in the browser."""

from unbraid.show.explorer.explorer import write_explorer as write_explorer
