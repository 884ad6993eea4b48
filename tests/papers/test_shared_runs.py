"""Items of one paper that ask for the same models ask for the same runs, so that nothing is trained twice."""

import pytest

from unbraid.papers import ExaminedWork, StudyWork, TunedWork
from unbraid.papers.registry import items


def runs_of(name: str, scale: str) -> set[tuple[str, int]]:
    """Returns the digests and seeds that an item asks for, that of a chosen setting left out."""
    work = items()[name].at(scale)
    assert isinstance(work, StudyWork | TunedWork | ExaminedWork)
    return {(setting.spec.digest, seed) for setting in work.study.settings for seed in setting.seeds}


def metrics_of(name: str, scale: str) -> list[str]:
    return list(items()[name].at(scale).empty().metrics)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_figures_of_the_split_encoder_share_one_sweep(scale: str) -> None:
    third = runs_of("split2020/figure3", scale)
    for name in ("figure4", "figure5", "figure9"):
        assert runs_of(f"split2020/{name}", scale) == third
    assert len(third & runs_of("split2020/figure2", scale)) == len(third) // 3  # the baselines
    assert runs_of("split2020/figure6-stand-in", scale) == runs_of("split2020/figure10-stand-in", scale)
    # Codes are let go, so that a score that only one of them asks for would be trained for again.
    assert metrics_of("split2020/figure2", scale) == metrics_of("split2020/figure11", scale)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_tables_of_kumar_et_al_share_their_runs(scale: str) -> None:
    table1, table3, grid = (runs_of(f"kumar2017/{name}", scale) for name in ("table1", "table3", "figure1"))
    assert runs_of("kumar2017/figures9-12", scale) == table3
    assert len(table1 & table3) == 2 * len(table1) // 3  # the VAE and beta 4
    assert table1 & grid
    controls = runs_of("kumar2017/table1-controls", scale)
    assert table1 <= controls  # the VAE, beta 4 and beta 60
    assert controls & (grid - table1)  # one DIP-VAE
    for name in ("figure1", "table3", "figures9-12", "table1-controls"):
        assert metrics_of(f"kumar2017/{name}", scale) == metrics_of("kumar2017/table1", scale)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_pictures_of_chairs_are_of_models_of_the_grid(scale: str) -> None:
    for ending in ("", "-stand-in"):
        pictures, grid = (runs_of(f"kumar2017/{name}{ending}", scale) for name in ("table6", "text-chairs"))
        assert len({digest for digest, _ in pictures} - {digest for digest, _ in grid}) == 0
        assert metrics_of(f"kumar2017/table6{ending}", scale) == metrics_of(f"kumar2017/text-chairs{ending}", scale)


def test_what_tunes_a_dip_vae_is_not_what_tests_it() -> None:
    for scale in ("quick", "paper"):
        work = items()["kumar2017/table1"].at(scale)
        assert isinstance(work, TunedWork)
        tuning = {seed for candidate in work.candidates for seed in candidate.seeds}
        assert not tuning & set(work.seeds)
        assert [c.spec.objective.off_diagonal for c in work.candidates] == [1, 2, 5, 10, 20, 50]
