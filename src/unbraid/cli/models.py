"""`unbraid models`."""

from unbraid.cli.config_lists import list_configs
from unbraid.cli.console import say
from unbraid.cli.flags import known_flags


def models() -> None:
    """List what models can be made of.

    A model has an encoder and a decoder, which are nets; latents with a prior; and a likelihood of pixels.

    Example:
      unbraid models
    """
    flags = known_flags("train")
    list_configs(
        {
            "net": flags["model.encoder"].configs,
            "latents": flags["model.latents"].configs,
            "prior of latents": flags["model.latents.prior"].configs,
            "likelihood of pixels": flags["model.likelihood"].configs,
        }
    )
    say(
        "Choose with --model.encoder NAME, --model.decoder, --model.latents, --model.latents.prior, --model.likelihood."
    )
    say("The fields of one: unbraid train --model.encoder NAME --help")
