"""One step of an objective on any PyTorch module, for custom training loops."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from unbraid.errors import SpecError
from unbraid.models.autoencoder import Autoencoder, AutoencoderModule, with_noise_inputs
from unbraid.models.categories import with_categories
from unbraid.models.distributions.distribution import Posterior, Prior
from unbraid.models.distributions.likelihoods import BernoulliLikelihood, Likelihood
from unbraid.models.distributions.posteriors.gaussian import DiagonalGaussian, GaussianLatents
from unbraid.models.distributions.priors.prior import StandardNormalPrior
from unbraid.objectives.objective import EncodedBatch, Objective, Step

Noise = Tensor | Mapping[str, Tensor]
"""Standard normal numbers for the codes, or a dictionary with "z", "other" and the names of `Objective.draw_shapes`."""


def step_of_module(
    objective: Objective,
    model: Any,
    x: Tensor,
    *,
    dataset_size: int,
    progress: float | Tensor,
    noise: Noise | None,
    generator: torch.Generator | None,
    state: Mapping[str, Tensor] | None,
    other: Tensor | None,
    critic: nn.Module | None,
    likelihood: Likelihood | None,
) -> Step:
    """Builds the `Step` of `Objective.loss`, which has the same arguments."""
    shape, x = x.shape[1:], _as_images(x, "x")
    progress = torch.as_tensor(progress, dtype=x.dtype, device=x.device)
    prior: Prior
    if isinstance(model, AutoencoderModule):
        if likelihood is not None:
            raise SpecError(
                f"likelihood is {likelihood}; expected None, because a model of Autoencoder.build has the likelihood "
                f"{model.likelihood}. Omit likelihood, or build the model with Autoencoder(likelihood=...)."
            )
        encode, decode = _nets_of_autoencoder(model, progress)
        prior, likelihood = model.prior_module(progress), model.likelihood
        posterior = encode(x)
        config = Autoencoder(latents=model.latents, noise_inputs=model.noise_inputs)
    else:
        encode, decode = _nets_of_module(model, x, shape)
        prior, likelihood = StandardNormalPrior(), likelihood or BernoulliLikelihood()
        posterior = encode(x)
        config = Autoencoder(latents=GaussianLatents(posterior.mean.shape[1]))
    _check_inputs(objective, config, dataset_size, other, critic)
    draws = _draws(objective, config, x, noise, generator)
    z = posterior.rsample(draws.pop("z"))
    second = None
    if other is not None:
        other = _as_images(other, "other")
        of_other = encode(other)
        second = EncodedBatch(other, of_other, of_other.rsample(draws.pop("other")))
    return Step(
        x=x,
        posterior=posterior,
        z=z,
        log_likelihood=likelihood.log_prob(x, decode(with_noise_inputs(z, config.noise_inputs))),
        prior=prior,
        dataset_size=dataset_size,
        progress=progress,
        draws=draws,
        other=second,
        encode=encode,
        decode=decode,
        critic=None if critic is None else _with_constant_weights(critic),
        critic_in_training=None if critic is None else lambda inputs: critic(inputs.detach()),
        state=objective.initial_state(config.latents) if state is None else state,
        groups=config.latents.groups,
        widths=config.latents.widths,
        likelihood=likelihood,
    )


Nets = tuple[Callable[[Tensor], Posterior], Callable[[Tensor], Tensor]]
"""Functions from images to posteriors, and from codes to outputs of the decoder."""


def _nets_of_autoencoder(model: AutoencoderModule, progress: Tensor) -> Nets:
    latents = model.latents

    def encode(images: Tensor) -> Posterior:
        return latents.posterior(model.encoder(images), progress)

    def decode(z: Tensor) -> Tensor:
        output: Tensor = model.decoder(with_categories(z, latents.widths, latents.hard_latents))
        return output

    return encode, decode


def _nets_of_module(model: Any, x: Tensor, shape: tuple[int, ...]) -> Nets:
    """Returns the nets of a module whose inputs, images or vectors, have the given shape."""
    for method in ("encode", "decode"):
        if not callable(getattr(model, method, None)):
            raise SpecError(
                f"The model is a {type(model).__name__} without the method {method}(). Expected encode(x), which "
                "returns (mean, logvar) or a Posterior, and decode(z), which returns logits. Add the method to your "
                "module."
            )

    def encode(images: Tensor) -> Posterior:
        return _as_posterior(model.encode(images.reshape(len(images), *shape)), len(images))

    def decode(z: Tensor) -> Tensor:
        logits: Tensor = model.decode(z)
        if logits.shape != (len(z), *shape):
            raise SpecError(
                f"decode(z) returned shape {tuple(logits.shape)}; expected {(len(z), *shape)}, the shape of x. Return "
                "one logit for each element of x."
            )
        return logits.reshape(len(z), *x.shape[1:])

    return encode, decode


def _as_posterior(encoded: Any, num_images: int) -> Posterior:
    """Converts the result of `encode` to a posterior."""
    if isinstance(encoded, Posterior):
        if encoded.probabilities:
            raise SpecError(
                "encode(x) returned a Posterior with discrete latents; expected only continuous latents, because a "
                "plain module has no prior. Build the model with Autoencoder(latents=...).build(image_shape, seed)."
            )
        return encoded
    if not (isinstance(encoded, tuple | list) and len(encoded) == 2 and all(isinstance(e, Tensor) for e in encoded)):
        raise SpecError(
            f"encode(x) returned a {type(encoded).__name__}; expected two tensors of shape (batch, latent), or a "
            "Posterior. Return (mean, logvar)."
        )
    mean, logvar = encoded
    if mean.ndim != 2 or mean.shape != logvar.shape or len(mean) != num_images:
        raise SpecError(
            f"encode(x) returned tensors of shapes {tuple(mean.shape)} and {tuple(logvar.shape)}; expected two tensors "
            f"of shape ({num_images}, number of latents). Return one mean and one log-variance per image and latent."
        )
    return DiagonalGaussian(mean, logvar)


def _check_inputs(objective: Objective, config: Autoencoder, dataset_size: Any, other: Any, critic: Any) -> None:
    """Raises if an input of the objective is missing or invalid."""
    name = type(objective).__name__
    if isinstance(dataset_size, bool) or not isinstance(dataset_size, int) or dataset_size < 1:
        raise SpecError(
            f"dataset_size is {dataset_size!r}; expected an integer >= 1. Pass the number of training images."
        )
    objective.check(config)
    if objective.needs_other_batch and other is None:
        raise SpecError(
            f"other is None; expected a second batch of images for {name}. Pass other=images, drawn independently of x."
        )
    if objective.critic_reads is not None and critic is None:
        raise SpecError(
            f"critic is None; expected a module with {objective.critic_outputs} output"
            f"{'s' * (objective.critic_outputs > 1)} that reads {objective.critic_reads} for {name}. Pass "
            "critic=objective.build_critic(...), and train its parameters on `loss.critic`."
        )
    if objective.critic_reads == "features":
        raise SpecError(
            f"The critic of {name} shares layers with the encoder; expected a separate critic, because only "
            f"`unbraid.train` supports shared layers. Use {name}(shared_trunk=False)."
        )


def _draws(
    objective: Objective,
    config: Autoencoder,
    x: Tensor,
    noise: Noise | None,
    generator: torch.Generator | None,
) -> dict[str, Tensor]:
    """Returns the standard normal numbers of a step by name, and draws the missing names."""
    image_shape = (x.shape[1], x.shape[2], x.shape[3])
    shapes: dict[str, tuple[int, ...]] = {"z": (len(x), config.latents.num_noise)}
    if objective.needs_other_batch:
        shapes["other"] = shapes["z"]
    shapes |= objective.draw_shapes(len(x), config, image_shape)
    given = {} if noise is None else {"z": noise} if isinstance(noise, Tensor) else dict(noise)
    for name, tensor in given.items():
        if name not in shapes or tensor.shape != shapes[name]:
            expected = ", ".join(f"{each!r}: {shape}" for each, shape in shapes.items())
            raise SpecError(
                f"noise has {name!r} of shape {tuple(tensor.shape)}; expected names and shapes from {{{expected}}}. "
                "Rename or reshape the tensor, or omit it to have it drawn."
            )
    new = {
        name: torch.randn(shape, generator=generator, dtype=x.dtype, device=x.device)  # noqa: TID251
        for name, shape in shapes.items()
        if name not in given
    }
    return given | new


def _with_constant_weights(critic: nn.Module) -> Callable[[Tensor], Tensor]:
    """Returns a function that calls the critic with constant weights, which receive no gradient."""

    def constant_critic(inputs: Tensor) -> Tensor:
        constant = {name: tensor.detach() for name, tensor in critic.named_parameters()}
        output: Tensor = functional_call(critic, constant, (inputs,))
        return output

    return constant_critic


def _as_images(x: Any, name: str) -> Float[Tensor, "batch channel height width"]:
    """Returns images unchanged, and reshapes vectors to images of one row."""
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim not in (2, 4) or len(x) < 2:
        got = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise SpecError(
            f"{name} is {got}; expected at least 2 images in a float tensor of shape (batch, channel, height, width) "
            f"or (batch, number). Convert with {name}.float() and {name}.reshape(...)."
        )
    return x if x.ndim == 4 else x[:, None, None, :]
