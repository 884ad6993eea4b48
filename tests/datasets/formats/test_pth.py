import io
import os
import pickle
import tarfile
import zipfile
from collections import OrderedDict

import pytest
import torch

from unbraid.datasets.formats.pth import read_tensor
from unbraid.errors import DataError

TENSOR = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.pth"


def legacy(content, storages=()):
    """The bytes that torch wrote before 1.6: five pickles, then the number of values of each storage and the values."""
    stream = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            if isinstance(thing, torch.UntypedStorage):
                return ("storage", torch.ByteStorage, "0", "cpu", len(thing), None)
            return None

    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    for head in (0x1950A86A20F9469CFC6C, 1001, system):
        pickle.dump(head, stream, protocol=2)
    Pickler(stream, protocol=2).dump(content)
    pickle.dump([str(key) for key in range(len(storages))], stream, protocol=2)
    for storage in storages:
        stream.write(len(storage).to_bytes(8, "little") + bytes(storage.tolist()))
    return stream.getvalue()


class Calls:
    """Pickled, it calls a function to be called."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool],
)
def test_a_tensor_comes_back_as_it_was_saved(path, zipped, dtype):
    torch.save(TENSOR.to(dtype), path, _use_new_zipfile_serialization=zipped)
    torch.testing.assert_close(read_tensor(path), TENSOR.to(dtype), rtol=0, atol=0)


def test_a_file_of_torch_before_0_4_is_read(path):
    storage = TENSOR.untyped_storage()
    path.write_bytes(legacy(Calls(torch._utils._rebuild_tensor, storage, 0, (2, 3, 4), (12, 4, 1)), [storage]))
    torch.testing.assert_close(read_tensor(path), TENSOR)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_view_keeps_its_strides(path, zipped):
    torch.save(TENSOR.transpose(0, 2), path, _use_new_zipfile_serialization=zipped)
    torch.testing.assert_close(read_tensor(path), TENSOR.transpose(0, 2))


def test_writing_to_the_tensor_does_not_reach_the_file(path):
    torch.save(TENSOR, path)
    before = path.read_bytes()
    read_tensor(path).zero_()
    assert path.read_bytes() == before


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({"images": TENSOR}, "dict"),
        ([TENSOR, TENSOR], "list"),
        (OrderedDict(a=TENSOR), "OrderedDict"),
        (None, "NoneType"),
        (torch.nn.Parameter(TENSOR.float()), r"calls torch\._utils\._rebuild_parameter"),
        (torch.nn.Linear(1, 1), r"calls torch\.nn\.modules"),
        (TENSOR.to_sparse(), r"calls torch\._utils\._rebuild_sparse_tensor"),
        # torch's unpickler for weights allows this one, and it would fill a terabyte.
        (Calls(bytearray, 10**12), "calls .*bytearray"),
    ],
)
def test_what_is_not_one_plain_tensor_is_refused(path, content, match, zipped):
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match=rf"file\.pth.*{match}"):
        read_tensor(path)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("function", [os.mkdir, exec, eval, os.system])
def test_code_in_a_file_is_never_run(tmp_path, path, function, zipped):
    target = tmp_path / "made"
    code = {os.mkdir: str(target), os.system: f"mkdir {target}"}.get(
        function, f"__import__('os').mkdir({str(target)!r})"
    )
    torch.save([TENSOR, Calls(function, code)], path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match="might run code"):
        read_tensor(path)
    assert not target.exists()


@pytest.mark.parametrize("protocol", [0, 1, 3, 4, 5])
def test_other_protocols_of_pickle_are_refused(path, protocol):
    torch.save(TENSOR, path, pickle_protocol=protocol)
    with pytest.raises(DataError, match=r"file\.pth"):
        read_tensor(path)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_cut_short_anywhere_is_refused(path, zipped):
    torch.save(TENSOR, path, _use_new_zipfile_serialization=zipped)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"file\.pth cannot"):
            read_tensor(path)


def test_a_tensor_that_reaches_beyond_its_values_is_refused(path):
    storage = TENSOR.untyped_storage()
    path.write_bytes(legacy(Calls(torch._utils._rebuild_tensor, storage, 0, (2, 3, 5), (15, 5, 1)), [storage]))
    with pytest.raises(DataError, match="cannot be read"):
        read_tensor(path)


def test_a_compressed_entry_is_refused_before_it_is_inflated(path):
    torch.save(TENSOR, path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match="is compressed"):
        read_tensor(path)


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ({}, "cannot be read as a tensor"),
        ({"file/images": b""}, r"no data\.pkl"),
        ({"file/constants.pkl": b"", "file/data.pkl": b"."}, "TorchScript"),
        ({"file/data.pkl": b"\x80\x02" + b"N0" * 40_000 + b"."}, "data.pkl has .* bytes"),
    ],
)
def test_other_zips_are_refused(path, entries, match):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match=match):
        read_tensor(path)


def test_pickles_that_do_not_end_are_refused(path):
    path.write_bytes(legacy(None)[:28] + b"\x80\x02" + b"N0" * 100_000)
    with pytest.raises(DataError, match="cannot be read"):
        read_tensor(path)


def test_the_tar_files_of_the_first_versions_are_refused(path):
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(DataError, match=r"torch\.save"):
        read_tensor(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file .*gone\.pth"):
        read_tensor(tmp_path / "gone.pth")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_tensor(tmp_path)
