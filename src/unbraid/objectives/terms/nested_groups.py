"""Groups of latents, which may be nested to any depth."""

from collections.abc import Sequence

Group = tuple[int, ...]
Level = tuple[Group, ...]
"""The groups of one level of a tree of groups. Each latent is in exactly one of the groups."""


def group_levels(groups: Sequence[Group]) -> list[Level]:
    """Returns the levels of nested groups, outermost first, without the level of single latents.

    >>> group_levels(((0, 1, 2, 3), (0, 1), (4, 5)))
    [((0, 1, 2, 3), (4, 5)), ((0, 1), (2,), (3,), (4,), (5,))]
    """
    groups = [group for group in groups if group]
    found = [_outermost(groups)]
    while True:
        cut = tuple(part for group in found[-1] for part in _parts(group, groups))
        if all(len(group) == 1 for group in cut):
            return found
        found.append(cut)


def overlapping_latents(groups: Sequence[Group]) -> list[int]:
    """Returns the latents in the intersection of groups that are not nested, and latents repeated in a group."""
    sets = [frozenset(group) for group in groups]
    pairs = [(one, other) for place, one in enumerate(sets) for other in sets[:place]]
    twice = {latent for group in groups for latent in group if group.count(latent) > 1}
    return sorted(twice.union(*(one & other for one, other in pairs if not (one < other or other < one))))


def _outermost(groups: Sequence[Group]) -> Level:
    sets = [set(group) for group in groups]
    return tuple(group for group in groups if not any(set(group) < other for other in sets))


def _parts(group: Group, groups: Sequence[Group]) -> Level:
    """Returns the largest groups within `group`, and its remaining latents as single groups."""
    within = _outermost([each for each in groups if set(each) < set(group)])
    alone = set(group).difference(*within)
    return (*within, *((latent,) for latent in group if latent in alone))
