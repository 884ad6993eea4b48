"""A fleet: any number of models trained side by side as one stack of weights.

The batches and noise of a member depend only on its seed and step. A member therefore becomes the same model in any
fleet, up to the order in which floats are summed (docs/runs.md).
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import final, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from unbraid._internal.precision import matrix_units
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.batch_norm import set_population_statistics
from unbraid.training.program import Programs, Replayed
from unbraid.training.state import Member, MemberState, Reason, fresh_state, of_member
from unbraid.training.step import FleetStep, Given, Kept


@final
class Fleet:
    """Trains members with the same `fleet_key`. Their weights are stacked: every tensor has a row for each member.

    On a CPU, steps run uncompiled. On a GPU, `prepare` compiles the step, and `programs` caches the compiled step for
    the next fleet of the same images.
    """

    def __init__(self, members: Sequence[Member], images: FactorImages, *, programs: Programs | None = None) -> None:
        device, spec = images.device, members[0].spec
        self.members = tuple(members)
        self.step = 0
        self._spec = spec
        self._images = images
        self._template = spec.model.build(images.image_shape, seed=members[0].seed).to(device, spec.dtype)
        self._steps = FleetStep(members, images, self._template)
        like = torch.empty(0, dtype=spec.dtype, device=device)
        self._state = fresh_state(members, images.image_shape, like)
        self._rounded = self._steps.rounded(self._state)
        self._programs = programs or Programs()
        self._replayed: dict[str, Replayed] = {}

    @property
    def weights(self) -> Float[Tensor, "member parameter"]:
        """Weights of the models, flattened to one row per member."""
        return torch.cat([each.reshape(len(each), -1) for each in self._state.carried.model.weights.values()], dim=1)

    @property
    def alive(self) -> Bool[Tensor, " member"]:
        return self._state.failed_at < 0

    @property
    def num_bytes(self) -> int:
        """Size of the states of all members in bytes."""
        return sum(tensor.nbytes for tensor in tree_leaves(self._state.carried))

    def prepare(self) -> float:
        """Compiles the step on a GPU; does nothing on a CPU.

        Returns the compilation time in seconds, 0 if the step was compiled before.
        """
        if self._images.device.type != "cuda" or self._replayed:
            return 0.0
        before, steps = self._programs.seconds, self._steps
        with matrix_units(self._spec.precision, self._images.device):
            given = steps.given(self._kept())
            advance = self._programs.compiled(steps.key, steps.advance, given, self._images, self._scratch)
            steps.observe(steps.given(self._kept()))  # once as it is: what it sets up cannot be recorded
            torch.cuda.empty_cache()
            pool = torch.cuda.graph_pool_handle()
            self._replayed = {
                "advance": Replayed(advance, steps.given, self._kept(), pool),
                # Not compiled: it is run too rarely to earn back what that takes.
                "observe": Replayed(steps.observe, steps.given, self._kept(), pool),
            }
        return self._programs.seconds - before

    def advance(self, *, log: bool = True) -> dict[str, Float[Tensor, " member"]]:
        """Takes one step with every member that has not failed.

        Returns the loss and its parts before the step, by name. Returns an empty dictionary without `log`.
        """
        kept = self._kept()
        with matrix_units(self._spec.precision, self._images.device):
            if self._replayed:
                losses = {name: value.clone() for name, value in self._replayed["observe"]().items()} if log else {}
                self._replayed["advance"]()
            else:
                losses = self._steps.advance(self._steps.given(kept), log=log)
        self.step += 1
        return losses

    def failed_at(self, index: int) -> int | None:
        """Returns the step, counted from 1, at which member `index` failed, or None.

        A member fails if its loss or gradient is not finite, or if its loss exceeds `max_loss`.
        """
        step = int(self._state.failed_at[index])
        return None if step < 0 else step

    def state(self, index: int) -> MemberState:
        """Returns the state of member `index`, on the CPU."""
        carried = tree_map(lambda tensor: tensor.cpu().clone(), of_member(self._state.carried, index))
        reason = int(self._state.reason[index])
        return MemberState(self.step, carried, self.failed_at(index), get_args(Reason)[reason - 1] if reason else None)

    def restore(self, states: Sequence[MemberState]) -> None:
        """Loads these states, one per member, all of the same step. An empty sequence changes nothing."""
        for index, state in enumerate(states):
            self.step = state.step
            self._state.step.fill_(state.step)
            tree_map(lambda place, tensor: place.copy_(tensor), of_member(self._state.carried, index), state.carried)
            self._state.failed_at[index] = -1 if state.failed_at is None else state.failed_at
            self._state.reason[index] = 0 if state.reason is None else 1 + get_args(Reason).index(state.reason)
        tree_map(lambda place, tensor: place.copy_(tensor), self._rounded, self._steps.rounded(self._state))

    def model(self, index: int) -> AutoencoderModule:
        """Returns member `index` as a separate model on the device of the fleet, in evaluation mode."""
        model = copy.deepcopy(self._template)
        model.load_state_dict(model.state_dict() | of_member(self._state.carried, index).model.weights)
        with matrix_units(self._spec.precision, self._images.device):
            generates = self._spec.objective.generates
            set_population_statistics(model, self._images, self.members[index].seed, generates=generates)
        return model.eval()

    def _kept(self) -> Kept:
        """Returns the inputs of the next step that have fixed memory addresses."""
        return self._steps.kept(self._state, self._rounded, self.step)

    def _scratch(self) -> Given:
        """Returns inputs of a step with copied state, which a trial step may overwrite."""
        kept = self._kept()
        state, rounded = tree_map(torch.clone, (kept.state, kept.rounded))
        return self._steps.given(replace(kept, state=state, rounded=rounded))
