"""Interactive HTML page that runs the decoders of runs, or any decoder, in the browser."""

from unbraid.show.explorer.explorer import write_explorer as write_explorer
