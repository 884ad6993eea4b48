"""The scorer of scikit-learn: it is what `evaluate` says of a transformer's codes, and model selection takes it."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from unbraid import Codes, evaluate
from unbraid.errors import CodesError, SpecError
from unbraid.integrations import CodesScorer

FACTORS = np.random.default_rng(0).integers(0, 4, size=(240, 2))
ROWS = FACTORS @ [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]


class Turned(TransformerMixin, BaseEstimator):
    """Turns the factors by an angle: at 0 each latent is one of them."""

    def __init__(self, angle=0.0):
        self.angle = angle

    def fit(self, X, y=None):
        self.matrix_ = [[np.cos(self.angle), -np.sin(self.angle)], [np.sin(self.angle), np.cos(self.angle)]]
        return self

    def transform(self, X):
        return X[:, [0, 2]] @ self.matrix_


def test_it_is_what_evaluate_says_of_the_codes():
    fitted = PCA(2).fit(ROWS)
    codes = Codes.from_arrays(fitted.transform(ROWS), factors=FACTORS)
    assert CodesScorer("sap")(fitted, ROWS, FACTORS) == evaluate(codes, metrics="sap")["sap"].value


def test_several_metrics_are_a_dict_and_less_is_better_is_negated():
    codes = Codes.from_arrays(Turned(0.3).fit(ROWS).transform(ROWS), factors=FACTORS)
    found = CodesScorer(["sap", "correlations"])(Turned(0.3).fit(ROWS), ROWS, FACTORS)
    assert found == {
        "sap": evaluate(codes, metrics="sap")["sap"].value,
        "neg_correlations": -evaluate(codes, metrics="correlations")["correlations"].value,
    }


def test_a_search_finds_the_angle_at_which_each_latent_is_a_factor():
    angles = {"angle": [0.0, 0.4, np.pi / 4]}
    search = GridSearchCV(Turned(), angles, scoring=CodesScorer("sap"), cv=2).fit(ROWS, FACTORS)
    assert search.best_params_ == {"angle": 0.0}
    named = GridSearchCV(Turned(), angles, scoring=CodesScorer("sap,correlations"), cv=2, refit="sap")
    assert named.fit(ROWS, FACTORS).best_params_ == {"angle": 0.0}


def test_pipelines_frames_and_data_without_factors_are_taken():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": FACTORS[:, 0], "shape": np.array(["cat", "cow", "dog", "owl"])[FACTORS[:, 1]]})
    chain = make_pipeline(StandardScaler(), PCA(2))
    assert cross_val_score(chain, ROWS, frame, scoring=CodesScorer("sap"), cv=2).shape == (2,)
    found = cross_validate(PCA(2), ROWS, scoring=CodesScorer("gaussian-total-correlation,correlations"), cv=2)
    assert {"test_neg_gaussian-total-correlation", "test_neg_correlations"} <= set(found)


def test_it_travels_to_other_processes():
    scorer = CodesScorer("sap", factor_names=["one", "two"], unordered=("two",))
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_what_cannot_choose_is_refused_when_it_is_made():
    with pytest.raises(SpecError, match="informativeness"):
        CodesScorer("informativeness")
    with pytest.raises(SpecError, match="got elbo"):
        CodesScorer("elbo")


def test_an_estimator_without_codes_is_told():
    with pytest.raises(CodesError, match="SVC"):
        CodesScorer("sap")(SVC(), ROWS, FACTORS)
