"""A digest is that of what differs from the defaults."""

import hashlib
import json
from dataclasses import dataclass

from unbraid.config.annotations import public_path
from unbraid.config.digest import digest, user_source


@dataclass(frozen=True)
class Inner:
    """A config that is held by another."""

    widths: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Outer:
    """A config that holds another by default."""

    inner: Inner = Inner()
    weight: float = 1.0


def digest_of(content):
    """The digest of what classes of this module give, which is not of unbraid: its source counts."""
    content = content | {"own source": user_source(Inner()).identity}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def test_a_digest_is_of_the_type_and_the_fields_that_differ_from_their_defaults():
    outer, inner = public_path(Outer), public_path(Inner)
    assert digest(Outer()) == digest_of({"type": outer})
    assert digest(Outer(weight=2)) == digest_of({"type": outer, "weight": 2.0})
    assert digest(Outer(Inner(widths=(1, 3)))) == digest_of({"type": outer, "inner": {"type": inner, "widths": [1, 3]}})


def test_a_version_enters_the_digest_of_every_config_that_holds_it(monkeypatch):
    before = {digest(config) for config in (Inner(), Outer(), Outer(weight=2.0))}
    monkeypatch.setattr(Inner, "config_version", 2, raising=False)
    assert not before & {digest(config) for config in (Inner(), Outer(), Outer(weight=2.0))}
    inner = {"type": public_path(Inner), "config_version": 2}
    assert digest(Outer()) == digest_of({"type": public_path(Outer), "inner": inner})
