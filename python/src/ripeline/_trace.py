"""Runs that were recorded."""

from __future__ import annotations

import os
from functools import cached_property

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, counts_text
from ripeline._drawing import Drawing

if TYPE_CHECKING:
    from typing import Any

    from ripeline._base import Counts, StrPath


class Trace(Frozen):
    """A run that was recorded in a file. In a notebook it is its timeline."""

    _recorded: _ripeline.Recorded

    def __init__(self, recorded: _ripeline.Recorded) -> None:
        self._set(_recorded=recorded)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on parts that are missing, and on the step that was chosen."""
        return tuple(self._recorded.notes)

    @cached_property
    def drawing(self) -> Drawing:
        """The timeline, as `ripeline show` draws it."""
        return Drawing(self._recorded.drawing())

    def explain(self, task: str = "") -> str:
        """The reasons that `ripeline why` prints, as in `Run.explain()`."""
        return self._recorded.explain(task)

    def save(self, path: StrPath) -> None:
        """Writes the timeline as .svg, .pdf or .html, as `Drawing.save()` does."""
        self.drawing.save(path)

    def __repr__(self) -> str:
        return repr(self.drawing)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self.drawing._repr_mimebundle_()


def read_trace(path: StrPath, step: Counts | None = None) -> Trace:
    """Reads what ran when: the trace of a training program, or the .json of `Run.save()`.

    A path may also be the folder of parts that a killed run leaves. A trace may have many steps:
    `step` is the number of one, or the first and the last `(3, 5)`, and by default the last that
    ran completely.

    >>> import pathlib, tempfile
    >>> import ripeline
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.json"
    >>> ripeline.Program("1f1b", ranks=2).simulate(4).save(file)
    >>> print(ripeline.read_trace(file).explain("1B0").splitlines()[1])
    it waited for 1F0 until 2

    Raises `ripeline.Error` if the file cannot be read, or has no such step.
    """
    return Trace(_ripeline.read_trace(os.fspath(path), counts_text(step)))
