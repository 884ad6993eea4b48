"""Codes from files of arrays, and the files that are refused."""

import json
import re
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from unbraid.codes import Codes, CodesOptions, LatentPrior
from unbraid.errors import CodesError, UnbraidError

MEAN = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
STD = np.full((3, 2), 0.5)
FACTORS = np.array([[0, 1], [1, 1], [2, 0]])
TABLE = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])


def saved(path, arrays, names=None):
    """The arrays in the form that the path says, with the names where that form keeps them."""
    if path.suffix == ".npz":
        np.savez(path, **arrays, **({} if names is None else {"factor_names": names}))
    else:
        tensors = {name: torch.as_tensor(array).clone() for name, array in arrays.items()}
        save_file(tensors, path, None if names is None else {"factor_names": json.dumps(names)})
    return path


@pytest.fixture(params=[".npz", ".safetensors"])
def path(tmp_path, request):
    return tmp_path / f"codes{request.param}"


# What is read


def test_arrays_become_codes(path):
    codes = Codes.load(
        saved(path, {"mean": MEAN, "std": STD, "factors": FACTORS, "weights": np.arange(3.0)}, ["shape", "size"])
    )
    assert (codes.mean.tolist(), codes.std.tolist(), codes.weights.tolist()) == (
        MEAN.tolist(),
        STD.tolist(),
        [0.0, 1.0, 2.0],
    )
    assert codes.factor_names == ("shape", "size")
    assert [f.values.tolist() for f in codes.factors] == FACTORS.T.tolist()


def test_log_var_does_for_std(path):
    codes = Codes.load(saved(path, {"mean": MEAN, "log_var": 2 * np.log(STD)}))
    np.testing.assert_allclose(codes.std, STD)


def test_draws_do_for_means(path):
    assert Codes.load(saved(path, {"samples": np.stack([MEAN, MEAN + 2])})).mean.tolist() == (MEAN + 1).tolist()


def test_discrete_latents_are_read(path):
    codes = Codes.load(saved(path, {"probabilities_1": TABLE, "probabilities_0": TABLE[:, ::-1].copy()}))
    assert [table.tolist() for table in codes.probabilities] == [TABLE[:, ::-1].tolist(), TABLE.tolist()]


def test_factors_of_different_kinds_are_columns_of_their_own(path):
    arrays = {"mean": MEAN, "factor:size": FACTORS[:, 0], "factor:angle": np.array([0.1, np.nan, 0.3])}
    factors = {f.name: f for f in Codes.load(saved(path, arrays)).factors}
    assert (factors["size"].is_continuous, factors["angle"].is_continuous) == (False, True)
    assert factors["angle"].known.tolist() == [True, False, True]


def test_the_prior_is_read(path):
    prior = {"prior_mean": np.array([1.0, 2.0]), "prior_std": np.array([0.5, 3.0])}
    codes = Codes.load(
        saved(
            path,
            {"mean": MEAN, "std": STD, "probabilities_0": TABLE}
            | prior
            | {"prior_probabilities_0": np.array([0.3, 0.7])},
        )
    )
    assert codes.prior == LatentPrior.from_arrays([1.0, 2.0], [0.5, 3.0], probabilities=[[0.3, 0.7]])
    with pytest.raises(CodesError, match="std"):
        Codes.load(saved(path, {"mean": MEAN, "prior_mean": np.array([1.0, 2.0])}))


def test_arrays_of_other_names_are_left_alone(tmp_path):
    np.savez(tmp_path / "codes.npz", mean=MEAN, images=np.array([{}], dtype=object))
    assert len(Codes.load(tmp_path / "codes.npz")) == 3


def test_words_in_an_npz_are_categories(tmp_path):
    np.savez(tmp_path / "codes.NPZ", mean=MEAN, factors=np.array([["a"], ["b"], ["a"]]))
    (tmp_path / "codes.NPZ.npz").rename(tmp_path / "codes.NPZ")
    [labels] = Codes.load(tmp_path / "codes.NPZ").factors
    assert (labels.values.tolist(), labels.ordered) == ([0, 1, 0], False)


def test_columns_have_an_order_groups_and_flags(path):
    columns = {"factor:size": FACTORS[:, 0], "category:hue": FACTORS[:, 1], "known:hue": np.array([True, False, True])}
    codes = Codes.load(saved(path, {"mean": MEAN, "group_0": np.array([1, 0])} | columns, ["hue", "size"]))
    assert (codes.factor_names, codes.groups) == (("hue", "size"), ((1, 0),))
    assert [(labels.ordered, labels.is_known.tolist()) for labels in codes.factors] == [
        (False, [True, False, True]),
        (True, [True, True, True]),
    ]


# What is refused


@pytest.mark.parametrize(
    ("arrays", "names", "message"),
    [
        ({"mu": MEAN}, None, "expected an array 'mean'"),
        ({"std": STD}, None, "has std"),
        ({"mean": MEAN}, ["a"], "without factors"),
        ({"mean": MEAN, "factors": FACTORS}, ["", "b"], "name ''"),
        ({"mean": MEAN, "std": -STD}, None, "negative"),
        ({"mean": MEAN, "std": STD, "log_var": STD}, None, "Both std and log_var"),
        ({"mean": MEAN, "factors": FACTORS}, ["one"], r"factor_names is \['one'\]"),
        ({"mean": MEAN, "factors": FACTORS, "factor:size": FACTORS[:, 0]}, None, "both factors"),
        (
            {"mean": MEAN, "factor:size": FACTORS[:, 0], "category:size": FACTORS[:, 0]},
            None,
            "The file has both factor:size and category:size",
        ),
        ({"mean": MEAN, "factor:size": FACTORS[:, 0]}, ["hue"], r"factor_names is \['hue'\]"),
        ({"mean": MEAN, "known:size": TABLE[:, 0] > 0}, None, r"known:size is torch\.bool of shape \(3,\)"),
        (
            {"mean": MEAN, "factor:size": TABLE[:, 0], "known:size": TABLE[:, 0]},
            None,
            "float64 of shape .3,.",
        ),
        (
            {"mean": MEAN, "factor:size": FACTORS[:, 0], "known:size": TABLE > 0},
            None,
            "shape .3, 2.",
        ),
        ({"mean": MEAN, "probabilities_1": TABLE}, None, "probabilities_1 .*probabilities_0"),
        ({"mean": MEAN, "group_0": TABLE[:, 0]}, None, r"groups is \[\[0\.5, 1\.0, 0\.25\]\]"),
        ({"mean": MEAN, "group_0": np.array([2])}, None, r"groups is \(\(2,\),\)"),
        ({"mean": MEAN[0]}, None, r"\(2,\).*\(images, latents\)"),
        (
            {"mean": MEAN, "factor:size": np.full((3, 2, 2), 0.25)},
            None,
            r"Factor 'size' has torch\.float64 of shape \(3, 2, 2\)",
        ),
        ({"mean": MEAN, "factors": FACTORS[:2]}, None, "Factor 'factor_0' has 2 labels"),
        ({"mean": MEAN * np.nan}, None, "NaN or infinite in 3 rows"),
    ],
)
@pytest.mark.usefixtures("_as_users_run_it")
def test_arrays_that_are_no_codes_are_refused(path, arrays, names, message):
    with pytest.raises(UnbraidError, match=message) as refused:
        Codes.load(saved(path, arrays, names))
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("codes.npz", b"", "codes.npz is empty"),
        ("codes.safetensors", b"", "codes.safetensors is empty"),
        ("codes.csv", b"", "codes.csv is empty"),
        ("codes.npz", b"not a zip", r"codes\.npz is not a readable \.npz \(File is not a zip file\)"),
        ("codes.safetensors", b"\xff" * 100, "not a valid .safetensors"),
        ("codes.safetensors", (2).to_bytes(8, "little") + b"[]", "not a valid .safetensors"),
        ("codes.pkl", b"\x80\x04.", "not a supported file"),
        ("codes", b"1,2", "not a supported file"),
    ],
)
def test_bytes_that_are_no_codes_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnbraidError, match=message):
        Codes.load(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnbraidError, match=r"absent\.csv"):
        Codes.load(tmp_path / "absent.csv")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(UnbraidError, match="is a folder"):
        Codes.load(tmp_path / "folder.npz")


def test_python_objects_are_refused(tmp_path):
    np.savez(tmp_path / "codes.npz", mean=np.array([[{}]], dtype=object))
    with pytest.raises(UnbraidError, match="Python objects"):
        Codes.load(tmp_path / "codes.npz")


def test_every_cut_of_a_file_is_refused(path):
    content = saved(path, {"mean": MEAN, "std": STD}).read_bytes()
    for length in range(1, len(content), 37):
        path.write_bytes(content[:length])
        with pytest.raises(UnbraidError, match="codes"):
            Codes.load(path)


@pytest.mark.parametrize("names", ["3", '{"a": 1}', "[1, 2]", "not json", "[" * 100_000 + "]" * 100_000])
def test_names_that_are_no_list_are_refused(tmp_path, names):
    path = tmp_path / "codes.safetensors"
    save_file({"mean": torch.as_tensor(MEAN), "factors": torch.as_tensor(FACTORS)}, path, {"factor_names": names})
    with pytest.raises(UnbraidError, match="factor_names|not a valid"):
        Codes.load(path)


@pytest.mark.usefixtures("_as_users_run_it")
def test_numbers_of_eight_bits_are_refused_by_name(tmp_path):
    path = tmp_path / "codes.safetensors"
    save_file({"mean": torch.zeros(3, 2).to(torch.float8_e4m3fn)}, path)
    with pytest.raises(CodesError, match=re.escape(str(path))):
        Codes.load(path)


def test_an_npz_is_opened_as_often_for_many_factors_as_for_few(tmp_path, monkeypatch):
    openings = []
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: openings.append(1) or list_entries(self))
    counts = []
    for number in (2, 40):
        np.savez(tmp_path / "codes.npz", mean=np.ones((5, 1)), **{f"factor:{k}": np.arange(5) for k in range(number)})
        openings.clear()
        assert len(Codes.load(tmp_path / "codes.npz").factors) == number
        counts.append(len(openings))
    assert counts[0] == counts[1]


list_entries = zipfile.ZipFile._RealGetContents


def test_names_without_number_are_refused_before_they_are_read(tmp_path):
    np.savez_compressed(tmp_path / "codes.npz", mean=MEAN, factors=FACTORS, factor_names=np.zeros(200_000, dtype="U1"))
    with pytest.raises(CodesError, match="200,000 factor_names"):
        Codes.load(tmp_path / "codes.npz")


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(CodesError, match="cannot"):
        Codes.load(tmp_path / ("x" * 305 + ".npz"))


@pytest.mark.parametrize("name", ["mean", "factor_names"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, name):
    """Two kilobytes whose header speaks of more than the machine has; the sizes in the archive agree with it."""
    path, rows = tmp_path / "bomb.npz", 2**40
    header = np.lib.format.magic(1, 0)
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 1), }}".ljust(117) + "\n"
    header += len(text).to_bytes(2, "little") + text.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", header + b"\0" * 1000)
        # What the list of contents says of the size, which is all that a reader knows before it unpacks.
        archive.filelist[0].file_size = len(header) + 8 * rows
    with pytest.raises(UnbraidError, match="8,796,093,022,336 bytes"):
        Codes.load(path)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_arrays_that_codes_are_not_made_from_are_told(tmp_path, caplog, suffix):
    others = {"logvar": np.zeros((4, 2)), "groups": np.zeros((1, 2)), "images": np.zeros(4)}
    path = saved(tmp_path / f"codes.{suffix}", {"mean": np.zeros((4, 2)), **others})
    assert Codes.load(path).std is None
    assert "contains" in caplog.text
    assert {"logvar", "groups", "images"} <= {word.strip(",") for word in caplog.text.split()}
    assert "log_var" in caplog.text


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ({"group_0": [True, False]}, "groups is [[True, False]]"),
        ({"group_0": [0.0, 1.0]}, "groups is [[0.0, 1.0]]"),
        ({"group_0": [[0, 1]]}, "groups is [[[0, 1]]]"),
        ({"group_1": [0, 1]}, "group_0"),
    ],
)
def test_groups_that_are_no_latent_numbers_are_refused_by_the_name_of_their_array(tmp_path, groups, complaint):
    path = saved(tmp_path / "codes.npz", {"mean": MEAN, **{name: np.array(group) for name, group in groups.items()}})
    with pytest.raises(CodesError, match=re.escape(complaint)):
        Codes.load(path)


@pytest.mark.parametrize("flags", [(True, False), np.array([True, False]), torch.tensor([True, False])])
def test_flags_are_no_latent_numbers(flags):
    with pytest.raises(CodesError, match="groups is"):
        Codes.from_arrays(MEAN, options=CodesOptions(groups=[flags]))


@pytest.mark.parametrize("groups", [zip((0,), (1,), strict=True), map(np.array, [[0, 1]]), [torch.tensor([0, 1])]])
def test_groups_may_be_any_numbers_that_can_be_gone_through(groups):
    assert Codes.from_arrays(MEAN, options=CodesOptions(groups=groups)).groups == ((0, 1),)


def test_a_transposed_mean_is_told():
    with pytest.raises(CodesError, match=r"shape \(2, 3\)"):
        Codes.from_arrays(MEAN.T, factors=FACTORS)
