"""Steps and codes on a pretended device that has no float64, as MPS: `python -m tests.training.pretend_device` prints
what goes wrong, as JSON.

Tensors are fake: they have a shape, a type and a device, and operations on tensors of different devices are errors.
"""

import json
import sys
import traceback
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._guards import active_fake_mode
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tests import test_every_combination as combinations
from unbraid._internal import device as devices
from unbraid.datasets.dataset import FactorImages
from unbraid.models.autoencoder import Autoencoder, AutoencoderModule
from unbraid.models.batch_norm import set_population_statistics
from unbraid.models.trained.elbo import CodedImages
from unbraid.models.trained.encode import _described
from unbraid.training import batches, member_loss, state
from unbraid.training.fleet import Fleet
from unbraid.training.runs import RunSpec
from unbraid.training.state import Member

NAME = "pretended"


class NoFloat64(TorchDispatchMode):
    """Raises for any float64 tensor on the pretended device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        for each in tree_leaves((args, kwargs, results)):
            if isinstance(each, Tensor) and each.dtype == torch.float64 and each.device.type == NAME:
                raise TypeError(f"{func} has a float64 tensor on {each.device}")
        return results


def fake(opened: FactorImages, mode: FakeTensorMode, *, weighted: bool) -> FactorImages:
    weights = torch.full((len(opened),), 1 / len(opened), dtype=torch.float64) if weighted else None
    return replace(opened, pixels=mode.from_tensor(opened.pixels), factors=(), factor_table=(), weights=weights)


def faked(tensor: Tensor) -> Tensor:
    mode = active_fake_mode()
    return tensor if mode is None or isinstance(tensor, FakeTensor) else mode.from_tensor(tensor)


def really(make: Any) -> Any:
    """A function that makes real tensors, also where those that are made otherwise are fake."""

    def made(*given: Any, **named: Any) -> Any:
        with unset_fake_temporarily():
            return make(*given, **named)

    return made


class AtOnce(Executor):
    """An executor without a thread, because a mode of fake tensors belongs to one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, function: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*given, **named))
        return future


def moved(module: nn.Module, convert: Any, *_: Any) -> nn.Module:
    """As `nn.Module._apply`, which exchanges the content of two tensors where the device is not known to it."""
    for each in module.modules():
        for kind in (each._parameters, each._buffers):
            for name, tensor in kind.items():
                if name == "num_batches_tracked":  # a constant, with which fake tensors compute in earnest
                    kind[name] = None
                elif tensor is not None:
                    with torch.no_grad():
                        found = convert(faked(tensor.detach()))
                    kind[name] = nn.Parameter(found) if kind is each._parameters else found
    return module


def live(spec: RunSpec, *, weighted: bool, streamed: bool) -> None:
    """Two steps of two members, the first logged; then the model of a member, its codes and its ELBO."""
    opened = spec.dataset.open()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, NoFloat64():
        images = fake(opened, mode, weighted=weighted)
        images = images.streamed_to(f"{NAME}:0") if streamed else images.to(f"{NAME}:0")
        members = [Member(spec, seed) for seed in range(2)]
        fleet = Fleet(members, images)
        for log in (True, False):
            fleet.advance(log=log)
        model = member_of(fleet)
        set_population_statistics(model, images, 0, batch_size=12, generates=spec.objective.generates)
        x = images.batch(slice(0, 6))
        assert {each.device.type for each in _described(model, x, slice(0, 6)).values()} == {"cpu"}
        if spec.model.latents.has_density:
            coded = CodedImages(model, images, torch.arange(6))
            assert coded.rate(0).device.type == coded.log_likelihood(0).device.type == "cpu"


def member_of(fleet: Fleet) -> AutoencoderModule:
    """As `Fleet.model`, which copies and loads tensors in ways that fake ones do not know."""
    model = fleet._template
    weights = tree_map(lambda each: each[0], fleet._state.tensors.model.weights)
    for name, value in weights.items():
        parent, _, last = name.rpartition(".")
        model.get_submodule(parent)._parameters[last] = nn.Parameter(value)
    return model.eval()


def main() -> None:
    _setup_privateuseone_for_python_backend(NAME)
    torch._C._set_only_lift_cpu_tensors(True)  # `torch.tensor(..., device=...)` makes a fake tensor, too
    batches.ThreadPoolExecutor = AtOnce  # type: ignore[assignment, misc]
    state.seeded, member_loss.seeded = really(state.seeded), really(member_loss.seeded)
    Autoencoder.build = really(Autoencoder.build)  # type: ignore[method-assign]
    nn.Module._apply = moved  # type: ignore[method-assign]
    devices._WITHOUT_FLOAT64.add(NAME)
    wrong = {}
    for number in sorted(combinations.ONE_OF_EACH):
        row = combinations.ROWS[number]
        values = combinations.values_of(row) | {"objective": combinations.setting_of(number, row)}
        spec = replace(combinations.spec_of(values), precision="float32")
        weighted = number % 3 == 0
        try:
            live(spec, weighted=weighted, streamed=number % 2 == 1)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test reports
            place = traceback.extract_tb(error.__traceback__)
            ours = [
                f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in place if "unbraid" in frame.filename
            ]
            wrong[f"{number} {combinations.row_name(row)}"] = f"{type(error).__name__}: {str(error)[:150]} {ours[-3:]}"
    json.dump({"rows": len(combinations.ONE_OF_EACH), "wrong": wrong}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
