"""Fleet: any number of models trained side by side, with stacked weights.

The batches and noise of a member depend only on its seed and the step. A member is therefore the same model in any
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
from unbraid.training.compilation import CompileCache, CudaGraph
from unbraid.training.state import Member, MemberState, Reason, fresh_state, of_member
from unbraid.training.step import FleetStep, StaticInputs, StepInputs


@final
class Fleet:
    """Models with the same `fleet_key`, trained together. Every weight tensor has a leading axis of members.

    On a CPU, steps run uncompiled. On a GPU, `prepare` compiles the step, and `cache` stores the compiled step for the
    next fleet with the same images.
    """

    def __init__(self, members: Sequence[Member], images: FactorImages, *, cache: CompileCache | None = None) -> None:
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
        self._cache = cache or CompileCache()
        self._graphs: dict[str, CudaGraph] = {}

    @property
    def weights(self) -> Float[Tensor, "member parameter"]:
        """Weights of the models, flattened to one row per member."""
        return torch.cat([each.reshape(len(each), -1) for each in self._state.tensors.model.weights.values()], dim=1)

    @property
    def alive(self) -> Bool[Tensor, " member"]:
        return self._state.failed_at < 0

    @property
    def num_bytes(self) -> int:
        """Size of the states of all members in bytes."""
        return sum(tensor.nbytes for tensor in tree_leaves(self._state.tensors))

    def prepare(self) -> float:
        """Compiles the step on a GPU. Returns the time in seconds: 0 on a CPU, or for a cached step."""
        if self._images.device.type != "cuda" or self._graphs:
            return 0.0
        before, steps = self._cache.seconds, self._steps
        with matrix_units(self._spec.precision, self._images.device):
            inputs = steps.step_inputs(self._static_inputs())
            advance = self._cache.compiled(steps.key, steps.advance, inputs, self._images, self._scratch)
            steps.observe(
                steps.step_inputs(self._static_inputs())
            )  # a first call, because a CUDA graph cannot record lazy setup
            torch.cuda.empty_cache()
            pool = torch.cuda.graph_pool_handle()
            self._graphs = {
                "advance": CudaGraph(advance, steps.step_inputs, self._static_inputs(), pool),
                # Not compiled: it runs too rarely to save the time of compilation.
                "observe": CudaGraph(steps.observe, steps.step_inputs, self._static_inputs(), pool),
            }
        return self._cache.seconds - before

    def advance(self, *, log: bool = True) -> dict[str, Float[Tensor, " member"]]:
        """Trains each member that has not failed for one step. Returns the previous loss and its terms if `log`."""
        static = self._static_inputs()
        with matrix_units(self._spec.precision, self._images.device):
            if self._graphs:
                losses = {name: value.clone() for name, value in self._graphs["observe"]().items()} if log else {}
                self._graphs["advance"]()
            else:
                losses = self._steps.advance(self._steps.step_inputs(static), log=log)
        self.step += 1
        return losses

    def failed_at(self, index: int) -> int | None:
        """Returns the step, counted from 1, at which member `index` failed, or None.

        A member fails if its loss or gradient is not finite, or if its loss exceeds `max_loss`.
        """
        step = int(self._state.failed_at[index])
        return None if step < 0 else step

    def state(self, index: int) -> MemberState:
        """Copies the state of member `index` to the CPU."""
        train_state = tree_map(lambda tensor: tensor.cpu().clone(), of_member(self._state.tensors, index))
        reason = int(self._state.reason[index])
        return MemberState(
            self.step, train_state, self.failed_at(index), get_args(Reason)[reason - 1] if reason else None
        )

    def restore(self, states: Sequence[MemberState]) -> None:
        """Loads one state per member, all of the same step. An empty sequence changes nothing."""
        for index, state in enumerate(states):
            self.step = state.step
            self._state.step.fill_(state.step)
            tree_map(lambda place, tensor: place.copy_(tensor), of_member(self._state.tensors, index), state.tensors)
            self._state.failed_at[index] = -1 if state.failed_at is None else state.failed_at
            self._state.reason[index] = 0 if state.reason is None else 1 + get_args(Reason).index(state.reason)
        tree_map(lambda place, tensor: place.copy_(tensor), self._rounded, self._steps.rounded(self._state))

    def model(self, index: int) -> AutoencoderModule:
        """Returns a copy of the model of member `index` on the device of the fleet, in evaluation mode."""
        model = copy.deepcopy(self._template)
        model.load_state_dict(model.state_dict() | of_member(self._state.tensors, index).model.weights)
        with matrix_units(self._spec.precision, self._images.device):
            generates = self._spec.objective.generates
            set_population_statistics(model, self._images, self.members[index].seed, generates=generates)
        return model.eval()

    def _static_inputs(self) -> StaticInputs:
        """Returns the inputs of the next step with fixed memory addresses."""
        return self._steps.static_inputs(self._state, self._rounded, self.step)

    def _scratch(self) -> StepInputs:
        """Returns inputs with a copy of the state, which a trial step may overwrite."""
        static = self._static_inputs()
        state, rounded = tree_map(torch.clone, (static.state, static.rounded))
        return self._steps.step_inputs(replace(static, state=state, rounded=rounded))
