"""A step that was traced is the step: the same weights and losses to the bit, for every objective; and one program
serves many fleets.
"""

import functools
from dataclasses import replace

import pytest
import torch
from torch.utils._pytree import tree_map

from tests.discovery import concrete_subclasses
from tests.models.distributions.families import SUMMED
from tests.slow import slow_but
from tests.training.squares import CONV_SPEC, MLP_SPEC
from unbraid.config.schedule import Cosine, Linear
from unbraid.models.distributions import BernoulliLatents, CorrelatedGaussianLatents, GaussianLatents, GroupedLatents
from unbraid.objectives import (
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    InfoGAN,
    Objective,
)
from unbraid.training import Critic, step
from unbraid.training.compilation import CompileCache, TracedFunction, traced_later
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adagrad, Adam
from unbraid.training.state import Member, named_leaves

FEW_SUMMED = GroupedLatents((GaussianLatents(2), BernoulliLatents(1, measure="summed")))
EVERY = concrete_subclasses(Objective)
VARIANTS = [
    DIPVAE("ii", mode="ema"),
    DIPVAE(mode="moments", decay=Cosine(0.5, 0.9), rescale=True),
    FactorVAE(Linear(0.0, 10.0), same_batch=True),
]
"""Settings under which more is carried from step to step, or a number moves."""
FAST = [BetaTCVAE(), FactorVAE(), InfoGAN(), *VARIANTS[1:2]]
"""One that compares pairs, one with a critic, one without a posterior's rate, and one with a state."""
NUM_STEPS = 5


def spec_of(objective, **changes):
    critic = (
        Critic(hidden=(4,), channels=(2,), optimizer=Adam(1e-3, betas=(0.5, 0.9))) if objective.critic_reads else None
    )
    return replace(MLP_SPEC, objective=objective, critic=critic, precision="float32", num_steps=NUM_STEPS, **changes)


@functools.cache
def images_of(dataset):
    """Loaded once: a program belongs to the images that it was compiled for."""
    return dataset.load()


def fleet_of(*specs, seeds=(0, 1), change=lambda images: images):
    """A fleet of these specs in turn, one a seed."""
    members = [Member(specs[number % len(specs)], seed) for number, seed in enumerate(seeds)]
    return Fleet(members, change(images_of(specs[0].dataset)))


def given(fleet):
    return fleet._steps.step_inputs(fleet._static_inputs())


def state(fleet):
    """All that a step changes, by name."""
    return named_leaves(fleet._state)


def traced(fleet):
    """The step of the fleet and its losses as lists of operations."""
    both = tuple(TracedFunction.of(function, given(fleet)) for function in (fleet._steps.advance, fleet._steps.observe))
    for each in both:
        assert_makes_no_tensors(each.graph)
    return both


def assert_makes_no_tensors(graph):
    """A tensor that is made of a Python list would be copied to the GPU at every step, and no CUDA graph can record
    such a copy.
    """
    made = [node for node in graph.graph.nodes if "lift_fresh" in str(node.target)]
    assert not made, [getattr(graph, node.args[0].target) for node in made]


def train_eagerly(fleet):
    return [fleet.advance() for _ in range(NUM_STEPS)]


def train_by(fleet, advance, observe):
    """Train with these forms of the step in place of the fleet's own. Returns the losses."""
    losses = []
    for _ in range(NUM_STEPS):
        tensors = given(fleet)
        losses.append(observe(tensors))
        advance(tensors)
        fleet.step += 1
    return losses


def assert_same_bits(ours, theirs):
    assert ours.keys() == theirs.keys()
    different = [name for name, tensor in ours.items() if not torch.equal(tensor, theirs[name])]
    assert not different


def assert_trains_alike(eager, other, advance, observe):
    """Both fleets end with the same tensors to the bit, having moved, and the losses are the same at every step."""
    start = eager.weights
    for ours, theirs in zip(train_by(other, advance, observe), train_eagerly(eager), strict=True):
        assert_same_bits(ours, theirs)
    assert_same_bits(state(other), state(eager))
    assert not torch.equal(other.weights, start)


# ---- traced and written


@pytest.mark.parametrize(
    "objective", slow_but(FAST, [*(cls() for cls in EVERY), *VARIANTS]), ids=lambda objective: type(objective).__name__
)
def test_the_traced_step_of_every_objective_is_the_step_to_the_bit_and_tracing_changes_nothing(objective):
    eager, fleet = (fleet_of(spec_of(objective)) for _ in range(2))
    before = tree_map(torch.clone, given(fleet))
    advance, observe = traced(fleet)
    assert_same_bits(named_leaves(given(fleet)), named_leaves(before))
    assert advance.outputs.num_leaves == 0
    assert_trains_alike(eager, fleet, advance, observe)


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        pytest.param(replace(CONV_SPEC, precision="bf16"), lambda images: images, marks=pytest.mark.slow),
        (
            spec_of(BetaTCVAE(estimator="stratified_pairs")),
            lambda images: replace(images, weights=torch.linspace(0, 1, 36) / 18),
        ),
        (spec_of(FactorVAE(), max_gradient_norm=1.0), lambda images: images.streamed_to("cpu")),
        (spec_of(HFVAE(), model=replace(MLP_SPEC.model, latents=FEW_SUMMED)), lambda images: images),
        pytest.param(
            spec_of(AnchorVAE(anchors=(0, 2, 3)), model=replace(MLP_SPEC.model, latents=SUMMED)),
            lambda images: images,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            spec_of(BetaTCVAE(), model=replace(MLP_SPEC.model, latents=CorrelatedGaussianLatents(3))),
            lambda images: images,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["bf16-convolutions", "weighted", "streamed-clipped", "summed", "summed-anchors", "noise"],
)
def test_so_it_is_with_other_nets_and_other_ways_of_images(spec, change):
    eager, fleet = (fleet_of(spec, change=change) for _ in range(2))
    assert_trains_alike(eager, fleet, *traced(fleet))


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
@pytest.mark.parametrize(
    "objective", slow_but(FAST, [*(cls() for cls in EVERY), *VARIANTS]), ids=lambda objective: type(objective).__name__
)
def test_long_training_on_a_cpu_runs_traced_gradients_with_the_same_bits(objective, seeds, monkeypatch):
    eager = fleet_of(spec_of(objective), seeds=seeds)
    monkeypatch.setattr(step, "_MIN_STEPS_TO_TRACE", NUM_STEPS)
    fleet, traced_ones, of = fleet_of(spec_of(objective), seeds=seeds), [], TracedFunction.of
    monkeypatch.setattr(TracedFunction, "of", lambda *arguments: traced_ones.append(of(*arguments)) or traced_ones[-1])
    for number in range(NUM_STEPS):
        assert eager.advance(log=number == 3).keys() == fleet.advance(log=number == 3).keys()
        assert_same_bits(state(fleet), state(eager))
    assert len(traced_ones) == 1


def test_a_function_that_cannot_be_traced_is_called_as_it_is():
    call = traced_later(lambda tensor: tensor * tensor.item())
    assert [call(torch.tensor(3.0)).item() for _ in range(2)] == [9.0, 9.0]


def test_a_traced_step_stops_a_member_that_diverges_alone():
    spec = spec_of(BetaTCVAE())
    eager, fleet = (fleet_of(spec, replace(spec, optimizer=Adam(1e30)), spec, seeds=(0, 1, 2)) for _ in range(2))
    train_eagerly(eager)
    train_by(fleet, *traced(fleet))
    assert [fleet.failed_at(index) for index in range(3)] == [None, 2, None]
    # Not the losses, which are NaN and so equal nothing.
    assert_same_bits(state(fleet), state(eager))


# ---- one program, many fleets


class Compiler:
    """Stands in for inductor, which would take half a minute a graph here: hands each graph back, and counts them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, examples):
        assert len(examples) == sum(node.op == "placeholder" for node in graph.graph.nodes)
        self.graphs.append(graph)
        return graph


def compiled(cache, fleet):
    """The step of the fleet, from the cache."""
    return cache.compiled(fleet._steps.key, fleet._steps.advance, given(fleet), fleet._images, fleet._scratch)


FIRST = spec_of(BetaTCVAE(beta=2.0))
SECOND = replace(FIRST, objective=BetaTCVAE(beta=8.0, gamma=2.0), optimizer=Adam(3e-3))


@functools.cache
def programs_of_first():
    """CompileCache that know the fleet of `FIRST` from the seeds 0 and 1."""
    compiler = Compiler()
    cache, fleet = CompileCache(compiler), fleet_of(FIRST)
    before = tree_map(torch.clone, state(fleet))
    compiled(cache, fleet)
    assert_same_bits(state(fleet), before)  # it ran once, on copies
    return cache, compiler


def test_a_second_fleet_with_other_seeds_and_numbers_finds_the_program_and_becomes_what_it_is_alone():
    cache, compiler = programs_of_first()
    seconds = cache.seconds
    assert seconds > 0
    eager, fleet = (fleet_of(SECOND, FIRST, seeds=(7, 5)) for _ in range(2))
    assert_trains_alike(eager, fleet, compiled(cache, fleet), fleet._steps.observe)
    assert len(compiler.graphs) == 1
    assert cache.seconds == seconds


def test_a_program_goes_on_where_a_fleet_was_left():
    cache, _ = programs_of_first()
    eager, left, joined = (fleet_of(FIRST) for _ in range(3))
    train_eagerly(eager), left.advance(), left.advance()
    joined.restore([left.state(index) for index in range(2)])
    advance = compiled(cache, joined)
    while joined.step < NUM_STEPS:
        advance(given(joined))
        joined.step += 1
    assert_same_bits(state(joined), state(eager))


@pytest.mark.parametrize(
    "other",
    [{"seeds": (0, 1, 2)}, {"change": lambda images: replace(images, pixels=255 - images.pixels)}],
    ids=["another size", "other images"],
)
def test_another_fleet_is_compiled_anew(other):
    cache, compiler = programs_of_first()
    known = len(compiler.graphs)
    compiled(cache, fleet_of(FIRST, **other))
    assert len(compiler.graphs) == known + 1


def key_of(*specs, seeds=(0, 1)):
    return fleet_of(*specs, seeds=seeds)._steps.key


def test_numbers_are_inputs_but_for_a_zero_that_all_members_share():
    without_total_correlation = replace(FIRST, objective=BetaTCVAE(beta=0.0))
    assert key_of(SECOND) == key_of(FIRST, SECOND) == key_of(FIRST, without_total_correlation) == key_of(FIRST)
    assert key_of(without_total_correlation) != key_of(FIRST)
    assert key_of(spec_of(VAE())) == key_of(spec_of(BetaVAE(4.0)))


@pytest.mark.parametrize(
    "changes",
    [
        {"objective": BetaTCVAE(beta=Linear(0.0, 2.0))},
        {"objective": BetaTCVAE(estimator="mss")},
        {"objective": VAE()},
        {"objective": AnnealedVAE()},
        {"optimizer": Adam(Linear(1e-3, 0.0))},
        {"batch_size": 9},
        {"num_steps": 6},
        {"max_gradient_norm": 1.0},
        {"max_loss": 100.0},
        {"optimizer": Adam(betas=(0.5, 0.999))},
        {"optimizer": Adagrad(1e-3)},
        {"precision": "bf16"},
        {"model": CONV_SPEC.model, "dataset": CONV_SPEC.dataset},
    ],
    ids=str,
)
def test_what_is_no_input_tells_programs_apart(changes):
    assert key_of(replace(FIRST, **changes)) != key_of(FIRST)
    assert hash(key_of(replace(FIRST, **changes))) == hash(key_of(replace(FIRST, **changes)))


def test_schedules_tell_programs_apart_by_what_they_are_and_by_whose_they_are():
    rising, falling = (replace(FIRST, objective=BetaTCVAE(beta=Linear(*ends))) for ends in ((0.0, 2.0), (2.0, 0.0)))
    keys = [key_of(rising), key_of(falling), key_of(rising, FIRST), key_of(FIRST, rising), key_of(FIRST)]
    assert len(set(keys)) == 5
    assert key_of(rising, SECOND, seeds=(8, 9)) == key_of(rising, FIRST)


def test_on_a_cpu_nothing_is_compiled():
    fleet = Fleet(
        [Member(FIRST, 0)],
        FIRST.training_data.load(),
        cache=CompileCache(lambda graph, examples: pytest.fail("compiled")),
    )
    assert fleet.prepare() == 0.0
    fleet.advance()
    assert fleet.prepare() == 0.0


def test_without_a_log_training_is_the_same():
    logged, silent = fleet_of(FIRST), fleet_of(FIRST)
    for _ in range(NUM_STEPS):
        assert logged.advance().keys() >= {"loss", "rate", "distortion"}
        assert silent.advance(log=False) == {}
    assert_same_bits(state(silent), state(logged))


# ---- what is weighed by zero


def sizes(graph):
    """How many numbers each tensor holds that a step cannot do without."""
    graph.graph.eliminate_dead_code()
    values = (node.meta.get("val") for node in graph.graph.nodes)
    return [value.numel() for value in values if isinstance(value, torch.Tensor)]


def holds_pairs(size):
    # 7, the batch size, is a prime that divides no other size: two axes of images alone have 49 as a factor.
    return size and size % 49 == 0


def test_a_fleet_of_vaes_compares_no_pairs_of_codes_in_order_to_learn():
    vae, beta_vae, tcvae = (spec_of(objective, batch_size=7) for objective in (VAE(), BetaVAE(), BetaTCVAE()))
    learning = TracedFunction.of((fleet := fleet_of(vae, beta_vae))._steps.advance, given(fleet))
    assert not [size for size in sizes(learning.graph) if holds_pairs(size)]
    assert any(size % 7 == 0 for size in sizes(learning.graph))
    # Its log does compare them, and so does a step where one member needs it.
    logging = TracedFunction.of(fleet._steps.observe, given(fleet))
    company = TracedFunction.of((mixed := fleet_of(vae, tcvae))._steps.advance, given(mixed))
    assert [size for size in sizes(logging.graph) if holds_pairs(size)]
    assert [size for size in sizes(company.graph) if holds_pairs(size)]


def test_beside_a_beta_tcvae_a_vae_is_what_it_is_among_its_like():
    specs = [replace(spec_of(objective), precision="float64") for objective in (VAE(), BetaTCVAE())]
    mixed = fleet_of(*specs)
    train_by(mixed, *traced(mixed))
    for index, spec in enumerate(specs):
        alone = fleet_of(spec, seeds=(index,))
        train_eagerly(alone)
        torch.testing.assert_close(mixed.weights[index], alone.weights[0], rtol=0, atol=1e-10)
