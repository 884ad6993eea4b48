"""The value of the field along which the settings of a study differ."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from unbraid.config.paths import fields_of
from unbraid.show.report.sweeps import is_plain_number, swept_path
from unbraid.studies.study import Setting


def swept_values(settings: Sequence[Setting]) -> dict[str, float]:
    """Returns, by label, the value of the field in which the settings of a family differ, such as beta.

    Where several fields differ, it is the one with most values, an objective's first. A family of one setting takes the
    field that most other families differ in. Settings without such a number are left out.
    """
    families: dict[str, list[Setting]] = {}
    for setting in settings:
        families.setdefault(setting.family, []).append(setting)
    paths = {family: swept_path([each.spec for each in members]) for family, members in families.items()}
    counts = Counter(path for path in paths.values() if path)
    common = counts.most_common(1)[0][0] if counts else ""
    found: dict[str, float] = {}
    for family, members in families.items():
        for setting in members:
            value: Any = fields_of(setting.spec).get(paths[family] or common)
            if is_plain_number(value):
                found[setting.label] = float(value)
    return found
