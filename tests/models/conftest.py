import pytest
import torch


@pytest.fixture
def _shapes_without_numbers():
    """The nets draw their first weights from torch's global generator, which is not to be touched; here they have
    shapes only.
    """
    with torch.device("meta"):
        yield
