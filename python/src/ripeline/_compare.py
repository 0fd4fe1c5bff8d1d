"""Runs of several programs side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, costs_text, counts_text, number_text, parsed
from ripeline._drawing import save_picture
from ripeline._program import Program
from ripeline._progress import watched

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, SupportsIndex

    from ripeline._base import StrPath
    from ripeline._progress import Watch


class Comparison(Frozen):
    """A table of runs, as `ripeline compare` prints it; in a notebook also their timelines."""

    _compared: _ripeline.Compared

    def __init__(self, compared: _ripeline.Compared) -> None:
        self._set(_compared=compared)

    @property
    def text(self) -> str:
        """The table of `ripeline compare`, and its remarks on what makes the comparison unfair."""
        return self._compared.text

    def json(self) -> str:
        """The document of `ripeline compare --format json`."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return self._compared.json()

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Of each program: title, wall, span, bubbles, peaks, and gain, by the fields' names."""
        runs: list[dict[str, Any]] = parsed(self._json)["runs"]
        return runs

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on numbers of ranks and microbatches that differ."""
        return tuple(self._compared.notes)

    def svg(self, width: int | None = None) -> str:
        """The timelines on one time axis, `width` pixels wide (1200)."""
        return self._compared.svg(width)

    def html(self) -> str:
        """A page to zoom, search and hover, which needs no other file."""
        return self._compared.html()

    def save(self, path: StrPath) -> None:
        """Writes the timelines as .svg, .pdf or .html, as `Drawing.save()` does."""
        save_picture(self, path)

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.svg()}


def compare(
    programs: Iterable[Program] | Mapping[str, Program],
    microbatches: SupportsIndex | None = None,
    *,
    seeds: int = 1,
    memory: float | str | None = None,
    rank_costs: Mapping[str, float | str] | str | None = None,
    profile: StrPath | None = None,
    unit: str | None = None,
    latency: float | str | None = None,
    bandwidth: float | str | None = None,
    bytes: float | str | None = None,
    control: float | str | None = None,
    jitter: str | None = None,
    seed: int = 1,
    progress: Watch = None,
) -> Comparison:
    """Runs one step of each program under the same times, and puts the runs side by side.

    `programs` may have titles: `{"as it is": one, "with more warm-up": other}`. Without
    `microbatches` all take the only number of a CSV among them, or else each runs twice as many as
    it has ranks. With several `seeds`, from `seed` on, times are means, and the draws are the same
    for all programs. `memory` is a rank's room, in microbatches of all of its layers or in bytes
    (`"24GB"`): what holds more is marked. The other arguments are those of `Program.simulate()`.
    `rank_costs` gives schedules that put several stages on a rank, or split backwards, the work of
    one model. `progress` is called with a `Progress` while the call runs, and `progress=True` shows
    it.

    >>> from ripeline import Program, compare
    >>> table = compare([Program("1f1b", ranks=4), Program("gpipe", ranks=4)], 8)
    >>> [run["wall"] for run in table.runs]
    [33, 33]
    >>> [max(run["peak"]["activation"]) for run in table.runs]
    [4, 8]

    Raises `ripeline.Error` if the arguments do not fit a program, or if units differ.
    """
    if isinstance(programs, Program):
        raise TypeError("compare takes several programs: compare([first, second], …)")
    if isinstance(programs, Mapping):
        titles = [str(title) for title in programs]
        chosen = list(programs.values())
    else:
        chosen = list(programs)
        titles = [program.source_name for program in chosen]
    if not chosen:
        raise TypeError("compare takes one program or several")
    with watched(progress, "compare") as told:
        compared = _ripeline.compare(
            [program._program for program in chosen],
            titles,
            counts_text(microbatches),
            seeds,
            number_text(memory),
            costs_text(rank_costs),
            "" if profile is None else os.fspath(profile),
            unit or "",
            number_text(latency),
            number_text(bandwidth),
            number_text(bytes),
            number_text(control),
            jitter or "",
            seed,
            told,
        )
    return Comparison(compared)
