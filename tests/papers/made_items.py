"""A paper with two small items, one that trains and one that does not, for tests of the machinery."""

from dataclasses import replace

from tests.training.squares import MLP_SPEC
from unbraid import BetaVAE
from unbraid.papers import Calculation, Choice, Item, Paper, Printed, StudyWork, TunedWork
from unbraid.studies import Higher, Setting, Study, Within
from unbraid.studies.figures import draw

SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=2, precision="float32")


def setting(label, beta, seeds):
    return Setting(label, replace(SPEC, objective=BetaVAE(beta)), seeds)


def study(name="made2000-figure1-quick", seeds=(0, 1)):
    return Study(
        name,
        (setting("beta 1", 1.0, seeds), setting("beta 4", 4.0, seeds)),
        metrics=("mig",),
        keep="scores",
        claims=(Higher("More beta, more MIG.", "mig", "beta 4", "beta 1"),),
    )


def tuned():
    candidates = (setting("tried 2", 2.0, (7,)), setting("tried 3", 3.0, (7,)))
    base = replace(study("made2000-tuned-quick"), claims=())
    claims = (Higher("The chosen is above.", "mig", "chosen", "beta 1"),)
    return TunedWork(base, "chosen", candidates, (0, 1), "mig", claims)


def doubles():
    claim = Within("Doubles are even.", "double", ("a",), 2, 4)
    return Calculation(
        "made2000-table1", {"a": (1, 2)}, {"double": None}, lambda label, seed: {"double": 2 * seed}, (claim,)
    )


TABLE1 = Item(
    id="made2000/table1",
    title="Doubles",
    claim="Twice a number is even.",
    work={"smoke": doubles, "paper": doubles},
    data="none",
    seconds={"paper": 1},
    printed=(Printed("a", "double", 3.0),),
    choices=(Choice("seeds", "not stated", "1 and 2"),),
    trains=False,
)
FIGURE1 = Item(
    id="made2000/figure1",
    title="MIG over beta",
    claim="MIG rises with beta.",
    work={
        "smoke": lambda: StudyWork(study("made2000-figure1-smoke")),
        "quick": lambda: StudyWork(study()),
        "paper": lambda: StudyWork(study("made2000-figure1-paper", (0, 1, 2))),
    },
    data="squares",
    seconds={"quick": 60, "paper": 3600},
    draw=lambda scores: draw(scores, "strip", ["mig"]),
    notes="Two steps say nothing.",
)
PAPER = Paper("made2000", "The tests", "Made for tests", "nowhere", (TABLE1, FIGURE1))
