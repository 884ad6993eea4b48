"""The encoders that the paper compares, and three controls of ours."""

from collections.abc import Mapping

from unbraid.models import Conv, DisentanglementLibConv, SharingConv, SplitConv
from unbraid.models.architecture import Architecture
from unbraid.papers.item import Scale

BASELINE, CORRELATED = "baseline", "correlated noise"
SHARING, SHARING_EQUAL = "sharing", "sharing of equal size"
SPLIT, SPLIT_EQUAL = "split", "split of equal size"
KERNELS = "small kernels"

# About as many weights in the encoder as the baseline's 383,000: 387,000 and 380,000.
_OF_EQUAL_SIZE: Mapping[str, Architecture] = {
    SHARING_EQUAL: SharingConv((58, 58, 116, 116)),
    SPLIT_EQUAL: SplitConv((32, 32, 64, 16), branch_width=64),
}


def encoders(scale: Scale) -> dict[str, Architecture]:
    """Returns the encoders by name. Correlated noise is a matter of the latents: its net is the baseline. `KERNELS` is
    the net of disentanglement_lib, from which the paper's code was forked: the baseline but for small kernels.
    """
    if scale != "smoke":
        baseline = Conv(hidden=256)
        return {
            BASELINE: baseline,
            CORRELATED: baseline,
            SHARING: SharingConv(),
            SPLIT: SplitConv(),
            KERNELS: DisentanglementLibConv(),
            **_OF_EQUAL_SIZE,
        }
    channels, tiny = (4, 4, 4, 4), Conv((4, 4, 4, 4), hidden=8)
    return {
        BASELINE: tiny,
        CORRELATED: tiny,
        SHARING: SharingConv(channels, hidden=8),
        SHARING_EQUAL: SharingConv((6, 6, 6, 6), hidden=8),
        SPLIT: SplitConv(channels, branch_width=8, hidden=8),
        SPLIT_EQUAL: SplitConv((4, 4, 4, 2), branch_width=2, hidden=8),
        KERNELS: DisentanglementLibConv(channels, hidden=8),
    }


def decoder(scale: Scale, encoder: str) -> Architecture:
    """Returns the decoder, which all encoders share; that of disentanglement_lib differs in its initial weights."""
    return encoders(scale)[KERNELS if encoder == KERNELS else BASELINE]
