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
"""Standard normal numbers for the codes, or by name ("z", "other" and the names of `Objective.draw_shapes`)."""


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
    """Returns the `Step` of these images and the module, with the arguments of `Objective.loss`."""
    shape, x = x.shape[1:], _as_images(x, "x")
    progress = torch.as_tensor(progress, dtype=x.dtype, device=x.device)
    prior: Prior
    if isinstance(model, AutoencoderModule):
        if likelihood is not None:
            raise SpecError(
                f"likelihood is {likelihood}, and a model of Autoencoder.build has its own: {model.likelihood}. Leave "
                "it out, or build the model with Autoencoder(likelihood=...)."
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
    """Returns the nets of a module that reads images, or vectors, of this shape."""
    for method in ("encode", "decode"):
        if not callable(getattr(model, method, None)):
            raise SpecError(
                f"The model is a {type(model).__name__} without a method {method}(). Expected encode(x) that returns "
                "(mean, logvar) or a Posterior, and decode(z) that returns logits. Add the method to your module."
            )

    def encode(images: Tensor) -> Posterior:
        return _as_posterior(model.encode(images.reshape(len(images), *shape)), len(images))

    def decode(z: Tensor) -> Tensor:
        logits: Tensor = model.decode(z)
        if logits.shape != (len(z), *shape):
            raise SpecError(
                f"decode(z) returned shape {tuple(logits.shape)}; expected {(len(z), *shape)}, that of x. Return one "
                "logit for each number of x."
            )
        return logits.reshape(len(z), *x.shape[1:])

    return encode, decode


def _as_posterior(encoded: Any, num_images: int) -> Posterior:
    """Returns the result of `encode` as a posterior."""
    if isinstance(encoded, Posterior):
        if encoded.probabilities:
            raise SpecError(
                "encode(x) returned a Posterior with discrete latents, and a plain module has no prior for them. Build "
                "the model with Autoencoder(latents=...).build(image_shape, seed)."
            )
        return encoded
    if not (isinstance(encoded, tuple | list) and len(encoded) == 2 and all(isinstance(e, Tensor) for e in encoded)):
        raise SpecError(
            f"encode(x) returned a {type(encoded).__name__}; expected (mean, logvar), two tensors of shape "
            "(batch, latent), or a Posterior."
        )
    mean, logvar = encoded
    if mean.ndim != 2 or mean.shape != logvar.shape or len(mean) != num_images:
        raise SpecError(
            f"encode(x) returned tensors of shapes {tuple(mean.shape)} and {tuple(logvar.shape)}; expected both "
            f"to have shape ({num_images}, number of latents), with one mean and log-variance per image and latent."
        )
    return DiagonalGaussian(mean, logvar)


def _check_inputs(objective: Objective, config: Autoencoder, dataset_size: Any, other: Any, critic: Any) -> None:
    """Raises if an input that the objective needs is missing."""
    name = type(objective).__name__
    if isinstance(dataset_size, bool) or not isinstance(dataset_size, int) or dataset_size < 1:
        raise SpecError(
            f"dataset_size is {dataset_size!r}; expected the number of training images, an integer of at least 1."
        )
    objective.check(config)
    if objective.needs_other_batch and other is None:
        raise SpecError(
            f"{name} needs a second batch of images. Pass other=: as many images, drawn independently of x."
        )
    if objective.critic_reads is not None and critic is None:
        raise SpecError(
            f"{name} needs a critic of {objective.critic_reads} with {objective.critic_outputs} output"
            f"{'s' * (objective.critic_outputs > 1)}. Pass critic=, a module; objective.build_critic(...) makes one. "
            "Its parameters are trained on `loss.critic`."
        )
    if objective.critic_reads == "features":
        raise SpecError(
            f"{name} shares the encoder's layers with its critic, which only `unbraid.train` supports. Use a separate "
            f"critic: {name}(shared_trunk=False)."
        )


def _draws(
    objective: Objective,
    config: Autoencoder,
    x: Tensor,
    noise: Noise | None,
    generator: torch.Generator | None,
) -> dict[str, Tensor]:
    """Returns the standard normal numbers of a step by name, with new draws for missing names."""
    image_shape = (x.shape[1], x.shape[2], x.shape[3])
    shapes: dict[str, tuple[int, ...]] = {"z": (len(x), config.latents.num_noise)}
    if objective.needs_other_batch:
        shapes["other"] = shapes["z"]
    shapes |= objective.draw_shapes(len(x), config, image_shape)
    given = {} if noise is None else {"z": noise} if isinstance(noise, Tensor) else dict(noise)
    for name, tensor in given.items():
        if name not in shapes or tensor.shape != shapes[name]:
            expected = ", ".join(f"{each!r}: {shape}" for each, shape in shapes.items())
            raise SpecError(f"noise has {name!r} of shape {tuple(tensor.shape)}; expected any of {{{expected}}}.")
    # In a custom loop the generator is that of the user.
    new = {
        name: torch.randn(shape, generator=generator, dtype=x.dtype, device=x.device)  # noqa: TID251
        for name, shape in shapes.items()
        if name not in given
    }
    return given | new


def _with_constant_weights(critic: nn.Module) -> Callable[[Tensor], Tensor]:
    """Returns the critic as a function whose weights have no gradient."""

    def constant_critic(inputs: Tensor) -> Tensor:
        constant = {name: tensor.detach() for name, tensor in critic.named_parameters()}
        output: Tensor = functional_call(critic, constant, (inputs,))
        return output

    return constant_critic


def _as_images(x: Any, name: str) -> Float[Tensor, "batch channel height width"]:
    """Returns images unchanged, and vectors as images of one row."""
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim not in (2, 4) or len(x) < 2:
        got = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise SpecError(
            f"{name} is {got}; expected a float tensor of shape (batch, channel, height, width) or (batch, number), "
            "of at least 2 images."
        )
    return x if x.ndim == 4 else x[:, None, None, :]
