"""Vector-valued latents as one: scikit-learn's PCA, widths that go with it, and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from unbraid import Codes, evaluate
from unbraid.codes import CodesOptions
from unbraid.errors import CodesError
from unbraid.metrics import MIG
from unbraid.metrics.estimators import MeansHistogram
from unbraid.metrics.published import disdiff, like
from unbraid.metrics.scoring import Scoring


def vectors(num_images=240, seed=0):
    """Two concepts of three numbers each, along directions of their own, and a latent in no group between them."""
    rng = np.random.default_rng(seed)
    v = np.stack([np.arange(num_images) % 3, np.arange(num_images) // 3 % 4], axis=1)
    first = np.outer(v[:, 0], [0.6, -0.8, 0.0]) + 0.05 * rng.normal(size=(num_images, 3))
    second = np.outer(v[:, 1], [1.0, 1.0, 1.0]) + 0.05 * rng.normal(size=(num_images, 3))
    mean = np.concatenate([first, rng.normal(size=(num_images, 1)), second], axis=1)
    groups = [(4, 5, 6), (0, 1, 2)]
    return Codes.from_arrays(
        mean, np.full(mean.shape, 0.1), options=CodesOptions(groups=groups), factors={"a": v[:, 0], "b": v[:, 1]}
    )


def test_each_group_is_its_first_principal_component_as_scikit_learn_finds_it():
    codes = vectors()
    found = codes.with_groups_as_latents()
    assert found.num_latents == 3
    for place, group in enumerate([(0, 1, 2), (3,), (4, 5, 6)]):
        mean = codes.mean[:, list(group)].numpy()
        expected = PCA(n_components=1).fit_transform(mean)[:, 0] if len(group) > 1 else mean[:, 0] - mean.mean()
        ours = found.mean[:, place].numpy() - found.mean[:, place].numpy().mean()
        np.testing.assert_allclose(ours * np.sign(ours @ expected), expected, atol=1e-9)


def test_widths_covariances_and_draws_go_along():
    codes = vectors(30)
    # A direction of length one through independent latents of one width has that width.
    torch.testing.assert_close(codes.with_groups_as_latents().std, torch.full((30, 3), 0.1).double())
    covariance = torch.diag_embed(codes.std.square())
    with_covariance = Codes(codes.mean, covariance=covariance, groups=codes.groups, factors=codes.factors)
    torch.testing.assert_close(
        with_covariance.with_groups_as_latents().covariance, torch.eye(3).double().expand(30, 3, 3) * 0.01
    )
    drawn = Codes(codes.mean, samples=codes.mean[None], groups=codes.groups)
    torch.testing.assert_close(drawn.with_groups_as_latents().samples[0], codes.with_groups_as_latents().mean)


def test_directions_may_be_those_of_other_images():
    train, test = vectors(), vectors(60, seed=1)
    both = Codes.concat([train, test]).with_groups_as_latents(train)
    torch.testing.assert_close(both.mean[240:], test.with_groups_as_latents(train).mean)
    with pytest.raises(CodesError, match="2 latents"):
        test.with_groups_as_latents(Codes.from_arrays(np.zeros((3, 2)), options=CodesOptions(groups=[(0, 1)])))


def test_scores_of_groups_are_scores_of_their_components():
    codes = vectors()
    card = evaluate(codes, metrics=[MIG()], scoring=Scoring(groups="pca"))
    assert card.num_latents == 3
    assert card.scores[0].value == pytest.approx(MIG()(codes.with_groups_as_latents()).value)
    assert card.scores[0].value > MIG()(codes).value + 0.1
    assert card.scoring == Scoring(groups="pca")
    assert card.scores[0].scoring == {"groups": "pca"}


def test_where_there_are_no_groups_nothing_is_asked_of_them():
    codes = Codes.from_arrays(vectors().mean, factors={"a": vectors().factors[0].values})
    assert evaluate(codes, metrics=[MIG(MeansHistogram())], scoring=Scoring(groups="pca")).scoring == Scoring()


def test_predictors_fitted_elsewhere_see_the_same_directions():
    card = evaluate(vectors(), metrics="sap", test=vectors(60, seed=1), scoring=Scoring(groups="pca"))
    assert card["sap"].tables["scores"].shape == (3, 2)
    assert card["sap"].per_factor["a"] > 0.2


def test_the_published_settings_of_disdiff_score_components():
    card = evaluate(
        vectors(), metrics=[m for m in disdiff() if not hasattr(m, "num_train")], scoring=Scoring(groups="pca")
    )
    assert like("disdiff") == disdiff()
    assert len(disdiff()) == 4
    assert card.scores[0].value > 0.5


def test_discrete_latents_in_groups_are_refused():
    probabilities = torch.full((5, 2), 0.5).double()
    codes = Codes(torch.zeros(5, 1).double(), probabilities=(probabilities,), groups=((0, 1),))
    with pytest.raises(CodesError, match=r"latents \[1\]"):
        codes.with_groups_as_latents()


def test_codes_with_groups_that_are_scored_latent_by_latent_say_so():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    mean = np.stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=300)], axis=1)
    codes = Codes.from_arrays(
        mean, np.full((300, 3), 0.1), options=CodesOptions(groups=[(0, 1)]), factors={"v": (angle > 3).astype(int)}
    )
    assert any("single latents are scored" in note for note in evaluate(codes, metrics=["mig"], progress=False).notes)
    [note] = evaluate(codes, metrics=["mig"], scoring=Scoring(groups="pca"), progress=False).notes
    share = PCA(1).fit(mean[:, :2]).explained_variance_ratio_[0]
    assert f"latents 0, 1 ({100 * share:.0f} %)" in note


def test_the_share_of_a_group_is_that_of_its_own_direction():
    """The first latent of a group may not vary, and another latent may be wider than the group."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4))
    factors = {"v": (z[:, 2] > 0).astype(int)}

    def notes(mean, groups):
        return evaluate(
            Codes.from_arrays(mean, np.full((300, 4), 0.1), options=CodesOptions(groups=groups), factors=factors),
            metrics=["mig"],
            scoring=Scoring(groups="pca"),
            progress=False,
        ).notes

    assert notes(z * [1, 0, 1, 1], [(1, 2)]) == ()
    [note] = notes(z * [9, 0, 1, 1], [(1, 2, 3)])
    share = PCA(1).fit(z[:, 1:] * [0, 1, 1]).explained_variance_ratio_[0]
    assert f"latents 1, 2, 3 ({100 * share:.0f} %)" in note
