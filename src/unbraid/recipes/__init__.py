"""Recipes: frozen dataclasses whose fields are numbers, texts, other recipes, and tuples of these.

`Recipe` checks the fields of every recipe against their annotations; `to_json` and `from_json` write and read a recipe
as JSON, `parse` and `text_of` as the text that one types.
"""

from unbraid.recipes.json_form import from_json as from_json
from unbraid.recipes.json_form import to_json as to_json
from unbraid.recipes.recipe import Recipe as Recipe
from unbraid.recipes.text import parse as parse
from unbraid.recipes.text import text_of as text_of
