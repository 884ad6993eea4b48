"""Models as files of torch.export: written here, and read by torch alone, because its reader unpickles."""

import io
import os
import pickle
import zipfile

import pytest
import torch

from tests.integrations.quick_exports import quick_exports
from unbraid.errors import RunError, SpecError
from unbraid.integrations import OnnxEncoder, export_torch
from unbraid.models import MLP, Autoencoder
from unbraid.models.distributions import GaussianLatents

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    model = Autoencoder(MLP((5,), (5,)), latents=GaussianLatents(2)).build((1, 8, 8), seed=0)
    folder = tmp_path_factory.mktemp("exported")
    with quick_exports():
        written = export_torch(model.requires_grad_(False), folder)
    return model, folder, written


def test_torch_reads_the_same_outputs_back_for_batches_of_another_size(exported):
    model, _, (encoder, decoder) = exported
    images = torch.rand(7, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    mean, std = torch.export.load(encoder.path).module()(images)
    posterior = model.encode(images)
    torch.testing.assert_close(mean, posterior.mean)
    torch.testing.assert_close(std, posterior.std)
    torch.testing.assert_close(torch.export.load(decoder.path).module()(mean), model.decode(mean))


def test_an_old_file_is_replaced_only_if_asked(exported):
    model, folder, _ = exported
    with pytest.raises(RunError, match="encoder.pt2 exists"):
        export_torch(model, folder)


class Attack:
    def __reduce__(self):
        return os.mkdir, (os.environ["UNBRAID_ATTACKED"],)


def test_the_reader_of_torch_runs_what_a_file_holds_so_unbraid_offers_none(exported, tmp_path, monkeypatch):
    """If this fails, torch has a reader that runs no pickle, and unbraid may offer it."""
    monkeypatch.setenv("UNBRAID_ATTACKED", str(tmp_path / "attacked"))
    _, _, (encoder, _) = exported
    stream = io.BytesIO()
    with zipfile.ZipFile(encoder.path) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            is_inputs = "sample_inputs" in name
            new.writestr(name, pickle.dumps(Attack()) if is_inputs else old.read(name))
    stream.seek(0)
    try:
        torch.export.load(stream)
    except Exception as error:  # noqa: BLE001 (it may fail after the harm is done)
        print(error)
    assert (tmp_path / "attacked").is_dir()
    with pytest.raises(SpecError, match="got .*encoder.pt2"):
        OnnxEncoder.open(encoder.path)
