"""The base of all objects of the package; arguments in the form of the command line."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn, SupportsIndex

StrPath = str | os.PathLike[str]
Counts = SupportsIndex | tuple[SupportsIndex, SupportsIndex]


class Frozen:
    """An object whose attributes are set once, by `_set()`, when it is made."""

    def _set(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")


def counts_text(counts: Counts | None) -> str | None:
    """A number of microbatches, or the first and the last of a range, as -m takes them."""
    if counts is None:
        return None
    if isinstance(counts, tuple):
        first, last = counts
        return f"{operator.index(first)}..{operator.index(last)}"
    return str(operator.index(counts))


def decimal_text(number: float, decimals: int | None = None) -> str:
    """The number without an exponent.

    With `decimals`, the number is rounded to as many, so that 0.1 + 0.2 is 0.3; a number that
    rounding would change by more than a ten-thousandth of it is left to the command line to judge.
    """
    exact = Decimal(repr(number))
    if decimals is None or not exact.is_finite():
        return format(exact, "f")
    rounded = round(exact, decimals)
    fits = abs(rounded - exact) * 10_000 <= abs(exact)
    return format((rounded if fits else exact).normalize(), "f")


def number_text(value: float | str | None, decimals: int = 6) -> str:
    """A number, or a text such as `0.6ms`; empty for None."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, SupportsIndex):
        return str(operator.index(value))
    return decimal_text(float(value), decimals)


def costs_text(costs: Mapping[str, float | str] | str | None) -> str | None:
    """The costs of kinds of tasks as `F=1,B=2ms`."""
    if costs is None or isinstance(costs, str):
        return costs
    return ",".join(f"{kind}={number_text(cost)}" for kind, cost in costs.items())
