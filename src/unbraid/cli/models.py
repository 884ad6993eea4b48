"""`unbraid models`."""

from unbraid.cli.console import say
from unbraid.cli.flags import known_flags
from unbraid.cli.recipe_lists import list_recipes


def models() -> None:
    """List what models can be made of.

    A model has an encoder and a decoder, which are nets; latents with a prior; and a likelihood of pixels.

    Example:
      unbraid models
    """
    flags = known_flags("train")
    list_recipes(
        {
            "net": flags["model.encoder"].recipes,
            "latents": flags["model.latents"].recipes,
            "prior of latents": flags["model.latents.prior"].recipes,
            "likelihood of pixels": flags["model.likelihood"].recipes,
        }
    )
    say(
        "Choose with --model.encoder NAME, --model.decoder, --model.latents, --model.latents.prior, --model.likelihood."
    )
    say("The fields of one: unbraid train --model.encoder NAME --help")
