"""Options of `train` that few runs need."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from unbraid.config.annotations import check_value
from unbraid.errors import SpecError
from unbraid.training.runs.records import Extras, as_steps


@final
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of `train` that few runs need. None of them changes the weights that a run ends with.

    Examples:
        >>> TrainingOptions(snapshots=[1000, 500]).extras.snapshots
        (500, 1000)
    """

    force: bool = False
    """Whether runs that exist are trained again. Their folders are archived in `.archived`."""
    checkpoint_every: int | None = None
    """Steps between two checkpoints; by default as many as keep the time for checkpoints below 2 %."""
    stream: bool | None = None
    """Whether images are read from the disk as they are needed; by default, where they are too many for memory."""
    deterministic: bool = False
    """Whether a GPU compiles steps that are the same on every machine of its kind, up to an eighth slower."""
    snapshots: Iterable[int] = ()
    """Steps after which weights are kept, for `run.model(step)`, `run.codes(step=...)` and `run.score(step=...)`."""
    keep_state: bool = False
    """Whether the state of the last step is kept, so that `run.extend` can continue from it."""
    held_out_every: int | None = None
    """About every so many steps, the history has the ELBO on images that the subset holds out: `held_out_elbo`."""
    latent_information_every: int | None = None
    """About every so many steps, the history has I(x; z_d) of each latent from the batch: `information_z0`, ..."""

    def __post_init__(self) -> None:
        for name in ("checkpoint_every", "held_out_every", "latent_information_every"):
            every = check_value(getattr(self, name), int | None, name)
            if every is not None and every < 1:
                raise SpecError(f"{name} is {every}; expected 1 step or more, or None to leave it out.")
            object.__setattr__(self, name, every)
        object.__setattr__(self, "snapshots", as_steps(self.snapshots))

    @property
    def extras(self) -> Extras:
        """Returns what each run is to keep in addition to its result."""
        return Extras(as_steps(self.snapshots), self.keep_state)
