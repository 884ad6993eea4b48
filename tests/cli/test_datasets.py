"""`unbraid datasets`."""

from unbraid.data import FactorDataset
from unbraid.runs.recipes import choices


def test_every_data_set_is_a_row(unbraid):
    outcome = unbraid("datasets")
    assert outcome.code == 0
    rows = {line.split()[0]: line for line in outcome.out.splitlines()[1:-1]}
    assert list(rows) == list(choices(FactorDataset))
    assert "737,280" in rows["dsprites"]
    assert "1 x 64 x 64" in rows["dsprites"]
    assert "shape (3), scale (6), orientation (40)" in rows["dsprites"]
    assert rows["dsprites"].rstrip().endswith("drawn here")
    assert "UNBRAID_DATA" in rows["mnist"]
    assert "--dataset.path" in rows["from-arrays"]
