"""Formatting of sizes, counts, percentages, durations and lists for messages."""

import math
from collections.abc import Iterable

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size_text(num_bytes: int) -> str:
    """Formats a number of bytes: `9_912_422` as "9.9 MB"."""
    power, number = 0, float(num_bytes)
    while number >= 999.5 and power + 1 < len(_UNITS):
        number, power = number / 1000, power + 1
    return f"{number:.1f} {_UNITS[power]}" if power and number < 99.95 else f"{number:.0f} {_UNITS[power]}"


def amount_text(done: int, total: int, unit: str) -> str:
    """Formats progress such as "12,000 of 202,599 images". Omits a total of 0 (unknown)."""
    if unit == "bytes":
        return f"{size_text(done)} of {size_text(total)}" if total else size_text(done)
    return f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"


def percent(share: float) -> str:
    """Formats a fraction as a percentage, with one decimal below 1 % and none from 1 % on."""
    digits = 1 if 0 < abs(share) < 0.01 else 0
    return f"{100 * share:.{digits}f} %".replace("-0 %", "0 %").replace("-0.0 %", "0 %").replace("-", "−")


def duration(seconds: float) -> str:
    """Formats a duration: `24 s`, `3 min 20 s`, `2 h 5 min`."""
    if not math.isfinite(seconds):
        return "unknown time"
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def listed(things: Iterable[object], conjunction: str = "and") -> str:
    """Joins items as "a", "a and b", or "a, b and c"."""
    words = list(map(str, things))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def short(number: float) -> str:
    """Formats a number with three significant digits, or without decimals from 1,000 on."""
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"
