"""Configs: frozen dataclasses whose fields are numbers, strings, other configs, and tuples of these.

`Config` checks the fields against their annotations. `to_json` and `from_json` convert configs to and from JSON.
`text_of` and `parse` convert configs to and from text on the command line.
"""

from unbraid.config.config import Config as Config
from unbraid.config.json_form import from_json as from_json
from unbraid.config.json_form import to_json as to_json
from unbraid.config.text import parse as parse
from unbraid.config.text import text_of as text_of
