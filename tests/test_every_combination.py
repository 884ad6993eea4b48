"""Every objective with every family of latents and prior, every likelihood and every net, those still to be written
among them.

A pairwise cover: every two that may be combined train together in some row, and every two that may not are refused when
the spec is built.
"""

import dataclasses
import functools
import json
from dataclasses import replace

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from tests.discovery import concrete_subclasses
from tests.models.distributions.families import FAMILIES, WITHOUT_DENSITY
from tests.models.nets import SMALL
from tests.pairwise import pairs_of, pairwise_cover
from tests.training.squares import PACKAGES, Squares
from unbraid.config import from_json
from unbraid.config.schedule import Cosine, Cyclic, Linear
from unbraid.errors import SpecError
from unbraid.models import Architecture, Autoencoder
from unbraid.models.distributions import GaussianLatents, Latents, Likelihood, UniformPrior
from unbraid.models.distributions.priors.categorical_priors import CategoricalPriorConfig
from unbraid.models.distributions.priors.prior import PriorConfig
from unbraid.models.wrapped_module import WrappedModule
from unbraid.objectives import DIPVAE, HFVAE, VAE, AnnealedVAE, BetaTCVAE, Composite, FactorVAE, InfoVAE, Objective
from unbraid.training import Critic
from unbraid.training.checkpoint import load_checkpoint, save_checkpoint, usable_checkpoints
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.runs import History, Run, RunSpec
from unbraid.training.state import Member, layout, named_leaves

NUM_STEPS = 4

VARIANTS: dict[type[Objective], list[Objective]] = {
    BetaTCVAE: [BetaTCVAE(estimator="mss")],
    Composite: [
        Composite(
            total_correlation=2.0,
            anchor_information=-0.5,
            capacity_distance=1.0,
            off_diagonal=Linear(0.0, 2.0),
            diagonal=1.0,
            critic_total_correlation=3.0,
            groups="model",
            anchors=(0,),
            capacity=Linear(0.0, 4.0),
            covariance="i",
            critic=True,
        )
    ],
    DIPVAE: [DIPVAE("ii", mode="ema"), DIPVAE(mode="moments", decay=Cosine(0.5, 0.9), rescale=True)],
    FactorVAE: [FactorVAE(Cyclic(0.0, 10.0, 2), same_batch=True)],
    HFVAE: [HFVAE(groups="each", estimator="mws")],
    InfoVAE: [InfoVAE(alpha=1.0, kernel="imq", statistic="unbiased")],
}
"""Other settings of an objective, which rows take turns with: those that carry something from step to step, above
all.
"""


def of_size_four(latents: Latents) -> Latents:
    """As many latents as every net can put out: the maps of `SharingConv` hold a multiple of four numbers."""
    return replace(latents, size=4) if any(field.name == "size" for field in dataclasses.fields(latents)) else latents


AXES = {
    "objective": concrete_subclasses(Objective),
    "latents": [*map(of_size_four, [*FAMILIES, *WITHOUT_DENSITY]), GaussianLatents(4, UniformPrior())],
    "encoder": SMALL,
    "decoder": SMALL,
    "likelihood": [cls() for cls in concrete_subclasses(Likelihood)],
    "dataset": [Squares(32), Squares(28)],
}
SIZES = {axis: len(values) for axis, values in AXES.items()}


def choice(axis, place):
    """The value of the axis; of an objective, its defaults."""
    value = AXES[axis][place]
    return value() if axis == "objective" else value


def settings_of(cls, model, turn):
    """The settings of the objective whose turn it is, among those that can train this model."""
    possible = [each for each in (cls(), *VARIANTS.get(cls, ())) if check(each, model) is None]
    return possible[turn % len(possible)]


def check(objective, model):
    """Why the objective cannot train the model, or None if it can."""
    try:
        objective.check(model)
    except SpecError as error:
        return str(error)
    return None


def model_of(values):
    return Autoencoder(
        **{axis: value for axis, value in values.items() if axis not in ("objective", "dataset")}, noise_inputs=2
    )


def spec_of(values):
    """A spec with these values, and for the rest what goes with them."""
    objective = values.get("objective", VAE())
    return RunSpec(
        dataset=values.get("dataset", Squares(32)),
        model=model_of({"encoder": SMALL[0], **values}),
        objective=objective,
        critic=Critic(hidden=(8, 8), channels=(3,), optimizer=Adam(1e-3, betas=(0.5, 0.9)))
        if objective.critic_reads
        else None,
        num_steps=NUM_STEPS,
        batch_size=6,
        optimizer=Adam(Linear(1e-3, 1e-4)),
        precision="float64",
    )


@functools.cache
def refusal(pair):
    """Why these two cannot be combined, or None if they can. An objective may refuse latents or likelihoods, an encoder
    may refuse latents.
    """
    values = {axis: choice(axis, place) for axis, place in pair}
    model = model_of({"encoder": SMALL[0], **values})
    if "objective" in values:
        return check(values["objective"], model)
    if values.keys() == {"latents", "encoder"}:
        try:
            # Not model.check, which also sends images through: that would take seconds while pytest collects.
            with torch.device("meta"):
                values["encoder"].make_encoder(Squares(32).image_shape, values["latents"])
        except SpecError as error:
            return str(error)
    return None


ROWS = pairwise_cover(SIZES, lambda pair: refusal(pair) is None)
REFUSED = [pair for pair in pairs_of(SIZES) if refusal(pair) is not None]


def named(value):
    return str(getattr(value, "__name__", type(value).__name__)).removesuffix("Latents").removesuffix("Likelihood")


def row_name(row):
    return "-".join(named(AXES[axis][place]) for axis, place in row.items() if axis != "dataset")


@pytest.fixture
def spec(request):
    number, row = request.param
    return spec_of(values_of(row) | {"objective": setting_of(number, row)})


def values_of(row):
    return {axis: choice(axis, place) for axis, place in row.items()}


def setting_of(number, row):
    values = values_of(row)
    return settings_of(type(values["objective"]), model_of(values), number)


def one_of_each():
    """Few rows that show each setting, each family, each net and each likelihood: the one that shows most that is new,
    then the next.
    """
    shown = {
        number: {setting_of(number, row), *((axis, row[axis]) for axis in ("latents", "encoder", "likelihood"))}
        for number, row in enumerate(ROWS)
    }
    missing, chosen = set().union(*shown.values()), set()
    while missing:
        best = max(shown, key=lambda number: len(shown[number] & missing))
        chosen.add(best)
        missing -= shown[best]
    return chosen


# Company and resuming are the fleet's: it is enough that each of a kind is in it once.
ONE_OF_EACH = one_of_each()


def of_rows(numbers, is_slow=lambda number: False):
    rows = [
        pytest.param(
            (number, ROWS[number]),
            id=f"{number}-{row_name(ROWS[number])}",
            marks=pytest.mark.slow if is_slow(number) else [],
        )
        for number in sorted(numbers)
    ]
    return pytest.mark.parametrize("spec", rows, indirect=True)


# ---- nothing is left out


@pytest.mark.parametrize("kind", [Objective, Latents, Likelihood, Architecture], ids=lambda kind: kind.__name__)
def test_every_class_of_this_kind_trains_in_some_row(kind):
    trained = {type(choice(axis, place)) for row in ROWS for axis, place in row.items()}
    missing = set(concrete_subclasses(kind)) - trained - {WrappedModule}  # tests/models/test_wrapped_module.py
    assert not missing, (
        f"add {missing} to tests/models/distributions/families.py or tests/models/nets.py, where rows take theirs from"
    )


@pytest.mark.parametrize("kind", [PriorConfig, CategoricalPriorConfig], ids=lambda kind: kind.__name__)
def test_every_prior_trains_in_some_row(kind):
    trained = {
        type(each) for row in ROWS for each in _configs_in(choice("latents", row["latents"])) if isinstance(each, kind)
    }
    assert trained == set(concrete_subclasses(kind)), (
        "add a family with the new prior to tests/models/distributions/families.py"
    )


def test_every_value_of_every_axis_trains_in_some_row():
    assert {item for row in ROWS for item in row.items()} == {
        (axis, place) for axis, size in SIZES.items() for place in range(size)
    }


def test_every_setting_that_rows_take_turns_with_trains_in_some_row():
    trained = [setting_of(number, row) for number, row in enumerate(ROWS)]
    assert all(setting in trained for settings in VARIANTS.values() for setting in settings)


def _configs_in(config):
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(each):
                yield each
                yield from _configs_in(each)


# ---- what is refused


@pytest.mark.parametrize(
    "pair", REFUSED, ids=lambda pair: "-".join(f"{named(AXES[axis][place])}{place}" for axis, place in pair)
)
def test_what_cannot_be_combined_is_refused_with_a_reason_and_a_way_out(pair):
    values = {axis: choice(axis, place) for axis, place in pair}
    with pytest.raises(SpecError) as refused:
        spec_of(values)
    reason, *way_out = str(refused.value).split(". ")
    assert reason
    assert way_out
    assert str(refused.value).endswith((".", ")"))


# ---- what trains


def spec_survives_json(spec):
    return (
        from_json(json.loads(json.dumps(spec.to_json(), allow_nan=False)), RunSpec, packages=PACKAGES).digest
        == spec.digest
    )


def idle_weights(net):
    """The names of the parameters that no gradient has ever reached: Adam's average of its square is still 0
    everywhere.
    """
    return {name for name, tensor in net.optimizer_state["second_moment"].items() if not bool(tensor.any())}


def trained_in_company(spec, images):
    """A fleet after two steps: losses and gradients are finite, and every weight is reached."""
    fleet = Fleet([Member(spec, 0), Member(spec, 3)], images)
    for _ in range(2):
        assert all(bool(part.isfinite().all()) for part in fleet.advance().values())
    states = [fleet.state(0), fleet.state(1)]
    for state in states:
        assert state.failed_at is None
        assert all(bool(tensor.isfinite().all()) for tensor in tree_leaves(state.tensors))
        assert spec.critic is None or idle_weights(state.tensors.critic) < state.tensors.critic.weights.keys()
    # In one member or the other: the ReLUs of a net this small may all be dead from the start.
    assert idle_weights(states[0].tensors.model) & idle_weights(states[1].tensors.model) == set()
    return fleet


@of_rows(set(range(len(ROWS))) - ONE_OF_EACH, is_slow=lambda number: number % 4)
def test_it_trains(spec):
    assert spec_survives_json(spec)
    trained_in_company(spec, spec.dataset.load())


@pytest.mark.slow
@of_rows(ONE_OF_EACH)
def test_it_trains_alike_in_company_and_after_a_break(spec, tmp_path):
    """A member alone is the member of a fleet, and neither a break nor a log that is not read changes a bit."""
    assert spec_survives_json(spec)
    images, run = spec.dataset.load(), Run.place(tmp_path, spec, 3)
    alone = Fleet([Member(spec, 3)], images)
    for step in range(NUM_STEPS):
        alone.advance()
        if step == 1:
            halfway = alone.state(0)
            save_checkpoint(run, halfway, [run.name], History())
    end = alone.state(0)

    resumed = Fleet([Member(spec, 3)], images)
    checkpoint = usable_checkpoints(run, layout(spec))[2]
    resumed.restore([load_checkpoint(run, checkpoint, layout(spec))])
    for _ in range(2):
        assert resumed.advance(log=False) == {}
    again = resumed.state(0)
    assert all(tree_leaves(tree_map(torch.equal, again.tensors, end.tensors)))

    company = trained_in_company(spec, images)
    before = named_leaves(halfway.tensors)
    for name, tensor in named_leaves(company.state(1).tensors).items():
        # Moments are gradients, as large as the weights of an objective make them; at the second step they have seen
        # weights that differ by rounding. A weight of 1000 on the distance from the capacity makes rounding larger, and
        # Adam turns it into steps.
        of_weights = 1e-7 if isinstance(spec.objective, AnnealedVAE) else 1e-8
        tolerance = (
            of_weights
            if name.startswith(("model.weights.", "critic.weights."))
            else 1e-6 * max(1.0, float(tensor.abs().max()))
        )
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=tolerance)
