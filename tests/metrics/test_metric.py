"""What every metric inherits."""

from unbraid.metrics import MIG


def test_settings_are_the_fields():
    assert MIG(estimator="quantised", num_bins=50).settings == {
        "estimator": "quantised",
        "num_bins": 50,
        "low": -4.0,
        "high": 4.0,
        "masses": "erf_edge",
        "quadrature": "auto",
    }
