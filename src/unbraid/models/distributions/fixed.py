"""A prior or a likelihood without parameters."""

from typing import Any, final

from torch import Tensor, nn


@final
class Fixed(nn.Module):
    """A module without weights whose output is always the given value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._value = value

    def forward(self, progress: Tensor | None = None) -> Any:
        del progress
        return self._value
