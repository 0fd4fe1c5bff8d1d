"""The bases of all objects of the package; arguments in the form of the command line.

`import ripeline` is quick, since it loads neither `typing` nor another module that takes
milliseconds: what only annotations need is imported under TYPE_CHECKING, and what few programs need
is imported where it is used.
"""

from __future__ import annotations

import operator
import os

TYPE_CHECKING = False  # type checkers take this name for true

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn, SupportsIndex, TypeGuard, TypeVar, dataclass_transform

    StrPath = str | os.PathLike[str]
    Counts = SupportsIndex | tuple[SupportsIndex, SupportsIndex]
    T = TypeVar("T")
else:

    def dataclass_transform(**_):
        return lambda decorated: decorated


class Frozen:
    """An object whose attributes are set once, by `_set()`, when it is made."""

    def _set(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")


@dataclass_transform(frozen_default=True)
class Record(Frozen):
    """A value: two records of a class are equal if all their attributes are.

    It prints its public attributes. For type checkers it is a frozen dataclass; real ones would
    more than double the time of `import ripeline`.
    """

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return self._shown(*(name for name in vars(self) if not name.startswith("_")))

    def _shown(self, *names: str) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


def parsed(text: str) -> Any:
    """The value of a JSON document."""
    import json

    return json.loads(text)


def copied(part: T) -> T:
    """A copy of a part of a JSON document, which the caller may change."""
    from copy import deepcopy

    return deepcopy(part)


def is_whole(value: object) -> TypeGuard[SupportsIndex]:
    """Whether the value is an integer of Python, NumPy or another package."""
    return hasattr(value, "__index__")


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
    from decimal import Decimal

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
    if is_whole(value):
        return str(operator.index(value))
    return decimal_text(float(value), decimals)


def costs_text(costs: Mapping[str, float | str] | str | None) -> str | None:
    """The costs of kinds of tasks as `F=1,B=2ms`."""
    if costs is None or isinstance(costs, str):
        return costs
    return ",".join(f"{kind}={number_text(cost)}" for kind, cost in costs.items())
