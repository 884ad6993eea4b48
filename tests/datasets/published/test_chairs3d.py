import io
import logging
import re
import tarfile

import numpy as np
import pytest
import scipy.io
import torch
from PIL import Image

from unbraid.datasets import Chairs3D, Factor
from unbraid.errors import DataError, SpecError

AZIMUTHS = [f"{360 * step // 31:03}" for step in range(31)]
MODELS = ["b663f1e4df6c51fe19fb4103277a6b93", "1a2b8749a1756a09932a5c2746cd09a4", "f0", "c9", "77"]
SIDE = 16


def render(model, elevation, azimuth):
    """A chair: a box on white whose shade tells the model, its height the elevation and its width the azimuth."""
    pixels = np.full((SIDE, SIDE, 3), 255, np.uint8)
    pixels[4 : 8 + 4 * elevation, 4 : 5 + azimuth // 4] = (20 + model, 40, 60)
    return pixels


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def names_mat(models):
    stream = io.BytesIO()
    instances = np.array([[name.rpartition("/")[2] for name in views("x")]], dtype=object)
    scipy.io.savemat(stream, {"folder_names": np.array([models], dtype=object), "instance_names": instances})
    return stream.getvalue()


def views(model):
    """The 62 official names: number 031 does not exist."""
    low = [f"{model}/renders/image_{number:03}_p020_t{azimuth}_r096.png" for number, azimuth in enumerate(AZIMUTHS)]
    return low + [
        f"{model}/renders/image_{number + 32:03}_p030_t{azimuth}_r096.png" for number, azimuth in enumerate(AZIMUTHS)
    ]


def tree(models=MODELS, listed=MODELS):
    found = {"all_chair_names.mat": names_mat(listed)} if listed else {}
    for model in models:
        number = MODELS.index(model)
        for place, name in enumerate(views(model)):
            found[name] = png(render(number, *divmod(place, 31)))
    return found


TREE = tree()


def lay_out(folder, files=TREE):
    for name, content in files.items():
        path = folder / "rendered_chairs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def pack(folder, files=TREE):
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "rendered_chairs.tar", "w") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(f"rendered_chairs/{name}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))


def expected(rows=None):
    """All images at the size of the renders, as gray as Pillow has it, in the order of the list, then elevation, then
    azimuth.
    """
    renders = [
        Image.fromarray(render(model, *divmod(view, 31))).convert("L")
        for model in range(len(MODELS))
        for view in range(62)
    ]
    images = np.stack([np.asarray(picture) for picture in renders])[:, None]
    return images if rows is None else images[rows]


def chairs(folder, **fields):
    return Chairs3D(root=str(folder), resolution=SIDE, **fields)


@pytest.mark.parametrize("put", [lay_out, pack], ids=["folder", "tar"])
def test_chairs_come_from_the_folder_and_from_the_tar(tmp_path, put):
    put(tmp_path)
    images = chairs(tmp_path).load()
    np.testing.assert_array_equal(images.pixels[:], expected())
    np.testing.assert_array_equal(images.values, np.indices((5, 2, 31)).reshape(3, -1).T)
    assert images.factor_table == (Factor("identity", 5, ordered=False), Factor("elevation", 2), Factor("azimuth", 31))
    assert chairs(tmp_path).factors == images.factor_table
    assert chairs(tmp_path).num_images == 5 * 62


def test_the_official_azimuths_are_whole_degrees():
    assert AZIMUTHS[:7] == ["000", "011", "023", "034", "046", "058", "069"]
    assert AZIMUTHS[-3:] == ["325", "336", "348"]


@pytest.mark.parametrize("subfolder", ["chairs3d", "3d_chairs", "chairs"])
def test_the_usual_subfolders_are_known_and_so_is_the_top_of_the_tree(tmp_path, subfolder):
    lay_out(tmp_path / subfolder, tree(MODELS[:1]))
    assert len(chairs(tmp_path).open()) == 62
    assert len(chairs(tmp_path / subfolder / "rendered_chairs").open()) == 62


def test_the_angles_are_told_by_the_names_and_not_by_their_order(tmp_path):
    # Numbered backwards, so that the order of names is not that of angles.
    files = {
        re.sub(r"image_(\d+)", lambda match: f"image_{999 - int(match[1])}", name): TREE[name]
        for name in TREE
        if "renders" in name
    }
    assert not files.keys() & TREE.keys()
    lay_out(tmp_path, {"all_chair_names.mat": TREE["all_chair_names.mat"], **files})
    np.testing.assert_array_equal(chairs(tmp_path).load().pixels[:], expected())


def test_without_the_list_models_come_by_name(tmp_path, caplog):
    lay_out(tmp_path, tree(MODELS, listed=None))
    with caplog.at_level(logging.WARNING):
        images = chairs(tmp_path).load()
    order = np.argsort(MODELS)
    np.testing.assert_array_equal(
        images.pixels[:], expected().reshape(5, 62, 1, SIDE, SIDE)[order].reshape(-1, 1, SIDE, SIDE)
    )
    assert "no all_chair_names.mat" in caplog.text
    assert "5 models" in caplog.text


def test_models_that_the_list_lacks_come_last(tmp_path):
    lay_out(tmp_path, tree(MODELS, listed=["absent", *MODELS[3:]]))
    images = chairs(tmp_path).load()
    order = [3, 4, *sorted(range(3), key=lambda number: MODELS[number])]
    np.testing.assert_array_equal(
        images.pixels[:], expected().reshape(5, 62, 1, SIDE, SIDE)[order].reshape(-1, 1, SIDE, SIDE)
    )


def test_the_first_four_fifths_of_the_models_train(tmp_path, cache):
    pack(tmp_path)
    train, test = (chairs(tmp_path, split=split) for split in ("train", "test"))
    np.testing.assert_array_equal(train.load().pixels[:], expected(slice(0, 4 * 62)))
    np.testing.assert_array_equal(test.load().pixels[:], expected(slice(4 * 62, None)))
    assert test.load().values[:, 0].unique().tolist() == [4]
    assert (train.num_images, test.num_images) == (4 * 62, 62)
    assert len(list((cache / "converted").iterdir())) == 1


def selected_mat(positions):
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"selected": positions})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("models_809.txt", f"{MODELS[3]}\n{MODELS[1]}\n".encode()),
        ("reduced_set1.mat", selected_mat(np.array([[4, 2]]))),
    ],
)
def test_the_smaller_set_is_told_by_a_list_and_has_its_order(tmp_path, name, content):
    pack(tmp_path)
    (tmp_path / name).write_bytes(content)
    images = chairs(tmp_path, models="809").load()
    np.testing.assert_array_equal(
        images.pixels[:], expected().reshape(5, 62, 1, SIDE, SIDE)[[3, 1]].reshape(-1, 1, SIDE, SIDE)
    )
    assert images.factor_table[0] == Factor("identity", 2, ordered=False)
    assert len(chairs(tmp_path).load()) == 5 * 62


def test_positions_count_the_official_list_even_where_models_are_missing(tmp_path):
    pack(tmp_path, tree(MODELS[2:], listed=MODELS))
    (tmp_path / "reduced_set1.mat").write_bytes(selected_mat(np.array([[0, 0, 0, 1, 0]], bool)))
    np.testing.assert_array_equal(chairs(tmp_path, models="809").load().pixels[:], expected(slice(3 * 62, 4 * 62)))


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        (None, b"", r"reduced_set1\.mat .*models_809\.txt"),
        ("models_809.txt", b"", r"models_809\.txt is empty"),
        (
            "models_809.txt",
            b"f0 nobody",
            r"models_809\.txt.*'nobody'.*rendered_chairs\.tar",
        ),
        ("models_809.txt", b"f0 c9 f0", r"models_809\.txt.*'f0'"),
        ("models_809.txt", bytes(2**20 + 1), r"models_809\.txt has 1,048,577 bytes"),
        ("reduced_set1.mat", b"no list", r"reduced_set1\.mat.*MATLAB"),
        (
            "reduced_set1.mat",
            selected_mat(np.array([[7, 2]])),
            r"reduced_set1\.mat selects model 7; .* 5",
        ),
    ],
)
def test_a_list_that_cannot_be_followed_is_named(tmp_path, name, content, match):
    pack(tmp_path)
    if name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=match):
        chairs(tmp_path, models="809").load()


def test_masks_are_white_chairs_on_black(tmp_path):
    pack(tmp_path, tree(MODELS[:1]))
    images = chairs(tmp_path, masks=True).load()
    np.testing.assert_array_equal(images.pixels[:], np.where(expected()[:62] == 255, 0, 255))


def test_color_is_kept_where_asked_for(tmp_path):
    pack(tmp_path, tree(MODELS[:1]))
    images = chairs(tmp_path, color=True).load()
    assert images.image_shape == (3, SIDE, SIDE)
    np.testing.assert_array_equal(images.pixels[40], render(0, 1, 9).transpose(2, 0, 1))


def test_gray_and_transparent_renders_lie_on_white_like_the_others(tmp_path):
    files = tree(MODELS[:1])
    first, second = views(MODELS[0])[:2]
    gray = np.asarray(Image.fromarray(render(0, 0, 0)).convert("L"))
    clear = np.dstack([render(0, 0, 1), np.where(render(0, 0, 1)[:, :, 0] == 255, 0, 255).astype(np.uint8)])
    pack(tmp_path, {**files, first: png(gray), second: png(clear)})
    np.testing.assert_array_equal(chairs(tmp_path).load().pixels[:], expected()[:62])


def test_the_middle_is_cut_out_where_asked_for(tmp_path):
    pack(tmp_path, tree(MODELS[:1]))
    images = Chairs3D(root=str(tmp_path), crop=8, resolution=8).load()
    np.testing.assert_array_equal(images.pixels[:], expected()[:62, :, 4:12, 4:12])


FIRST, LAST = views(MODELS[0])[0], views(MODELS[0])[-1]


@pytest.mark.parametrize("put", [lay_out, pack], ids=["folder", "tar"])
@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        (LAST, None, r"b663\w+.*1.*62.*30.*348"),
        (LAST, TREE[LAST][:55], r"image_062_p030_t348_r096\.png"),
        (LAST, b"\xff\xd8\xff\xe0 a JPEG", r"image_062_p030_t348_r096\.png.*PNG"),
        (LAST, png(np.zeros((8, 8), np.uint8)), r"image_062_p030_t348_r096\.png.* is 8 x 8 pixels .* expected 16 x 16"),
        (FIRST, png(np.zeros((8, 16), np.uint8)), r"image_000_p020_t000_r096\.png.* is 8 x 16 .* square"),
        (FIRST.replace("t000", "t001"), b"", r"t001_r096\.png"),
        (FIRST.replace("p020", "p025"), b"", r"p025_t000_r096\.png"),
        (FIRST.replace("image_000_p020_t000", "front"), b"", r"front_r096\.png"),
        (FIRST.replace("_000", "_031"), b"", r"image_031_p020_t000_r096\.png"),
        ("all_chair_names.mat", b"no list", r"all_chair_names\.mat.*MATLAB"),
    ],
)
def test_a_tree_that_is_not_the_official_one_is_refused_by_name(tmp_path, put, name, content, match):
    files = {**tree(MODELS[:1]), name: content}
    put(tmp_path, {name: content for name, content in files.items() if content is not None})
    with pytest.raises(DataError, match=match):
        chairs(tmp_path).load()


def test_files_beside_the_renders_do_not_matter(tmp_path):
    lay_out(
        tmp_path,
        {
            **tree(MODELS[:1]),
            f"{MODELS[0]}/renders/._image.png": b"",
            f"{MODELS[0]}/model.obj": b"",
            "notes.txt": b"",
            "odd/x.png": b"",
        },
    )
    assert len(chairs(tmp_path).load()) == 62


def test_a_tree_without_renders_is_refused(tmp_path):
    lay_out(tmp_path, {"notes.txt": b""})
    with pytest.raises(DataError, match="rendered_chairs/MODEL/renders/image_000"):
        chairs(tmp_path).load()


def test_a_tar_that_leads_elsewhere_is_refused(tmp_path):
    pack(tmp_path, {**tree(MODELS[:1]), "../../up.png": b""})
    with pytest.raises(DataError, match=r"rendered_chairs\.tar contains .*up\.png'"):
        chairs(tmp_path).load()


def test_the_config_describes_the_images_before_they_are_read():
    assert Chairs3D().num_images == 86_366
    assert Chairs3D(models="809").num_images == 50_158
    assert Chairs3D(models="809", split="train").num_images == 647 * 62
    assert Chairs3D(models="809", split="test").num_images == 162 * 62
    assert Chairs3D().image_shape == (1, 64, 64)
    assert Chairs3D(color=True, resolution=128).image_shape == (3, 128, 128)
    assert Chairs3D(models="809").factors[0] == Factor("identity", 809, ordered=False)


@pytest.mark.parametrize(
    "wrong", [{"crop": 601}, {"crop": 32}, {"resolution": 4}, {"resolution": 601}, {"masks": True, "color": True}]
)
def test_impossible_choices_are_refused(wrong):
    with pytest.raises(SpecError, match="Chairs3D"):
        Chairs3D(**wrong)


def test_batches_come_from_the_selected_rows(tmp_path):
    pack(tmp_path)
    images = chairs(tmp_path, split="test").open()
    np.testing.assert_array_equal(images.bytes_of(torch.tensor([3, 0])), expected()[[4 * 62 + 3, 4 * 62]])
