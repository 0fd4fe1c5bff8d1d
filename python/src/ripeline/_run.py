"""Runs on a virtual clock."""

from __future__ import annotations

import io
import os
from functools import cached_property

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, copied, parsed
from ripeline._drawing import Drawing

if TYPE_CHECKING:
    from typing import Any

    from ripeline._base import StrPath
    from ripeline._program import Program


class Run(Frozen):
    """One step of a program on a virtual clock, as `Program.simulate()` ran it.

    Times are in `unit`. In a notebook a Run is its timeline, in a terminal its report. A run that
    deadlocked is `stuck` and false, and its times end where it stuck.

    >>> import ripeline
    >>> run = ripeline.Program("1f1b", ranks=4).simulate(8)
    >>> run.wall, run.bubble, run.peaks
    (33, 9, {'activation': [4, 3, 2, 1]})
    """

    _simulated: _ripeline.Simulated
    _program: Program

    def __init__(self, program: Program, simulated: _ripeline.Simulated) -> None:
        self._set(_program=program, _simulated=simulated)

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self._program

    @cached_property
    def text(self) -> str:
        """The report of `ripeline simulate`."""
        return self._simulated.text()

    def json(self) -> str:
        """The document of `ripeline simulate --format json`."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return self._simulated.json()

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = parsed(self._json)
        return document

    def _number(self, name: str) -> float:
        value: float = self._document[name]
        return value

    @property
    def microbatches(self) -> int:
        """The microbatches of the step."""
        return int(self._document["microbatches"])

    @property
    def unit(self) -> str:
        """The unit of times: ns, us, ms, s, or `unit` if the costs have none."""
        return str(self._document["unit"])

    @property
    def stuck(self) -> bool:
        """Whether the run deadlocked."""
        return bool(self._document["stuck"])

    @property
    def wall(self) -> float:
        """From the first start to the last end of all ranks (makespan)."""
        return self._number("wall")

    @property
    def span(self) -> float:
        """From the first start to the last end of one rank, the longest."""
        return self._number("span")

    @property
    def work(self) -> float:
        """The work of the rank that works most."""
        return self._number("work")

    @property
    def bubble(self) -> float:
        """The wall minus the work: the time in which even the busiest rank is idle."""
        return self._number("wall_bubble")

    @property
    def bubble_rate(self) -> float:
        """The bubble divided by the wall."""
        return self._number("wall_bubble_rate")

    @property
    def span_bubble(self) -> float:
        """The span minus the work."""
        return self._number("span_bubble")

    @property
    def span_bubble_rate(self) -> float:
        """The span's bubble divided by the span."""
        return self._number("span_bubble_rate")

    @property
    def utilisation(self) -> float:
        """The share of the wall in which compute engines work, over all ranks."""
        return self._number("utilisation")

    @property
    def peaks(self) -> dict[str, list[int]]:
        """By resource, the most that each rank held at once."""
        return copied(dict(self._document["peak"]))

    @property
    def by_rank(self) -> list[dict[str, Any]]:
        """Of each rank's compute engine: tasks, first, last, busy, and idle times by cause."""
        return copied(list(self._document["by_rank"]))

    @property
    def causes(self) -> list[dict[str, float]]:
        """For each rank, the idle times of its compute engine by cause, between its tasks.

        >>> import ripeline
        >>> ripeline.Program("1f1b", ranks=2).simulate(4).causes
        [{'input': 3}, {'input': 0}]
        """
        return [dict(rank["idle"]) for rank in self.by_rank]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on how a profile fits the program, and on members and replicas."""
        return tuple(self._simulated.notes)

    @cached_property
    def drawing(self) -> Drawing:
        """The timeline."""
        return Drawing(self._simulated.drawing())

    def explain(self, task: str = "") -> str:
        """The reasons that `ripeline why` prints.

        For a task, as `"2F0"` (stage, op, microbatch): what it waited for, and that in turn, back
        to the start. Without a task: where the time of the run went, by rank and cause.

        >>> import ripeline
        >>> run = ripeline.Program("1f1b", ranks=2).simulate(4)
        >>> print(run.explain("1B0").splitlines()[1])
        it waited for 1F0 until 2

        Raises `ripeline.Error` if the run has no such task.
        """
        return self._simulated.explain(task)

    def csv(self) -> str:
        """A line `task,op,stage,microbatch,rank,engine,start,end` for each task."""
        return self._simulated.csv()

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the rows and columns of `csv()`: one row for each task.

        Raises ImportError if pandas is not installed.
        """
        import importlib

        pandas = importlib.import_module("pandas")
        return pandas.read_csv(io.StringIO(self.csv()), na_filter=False)

    def save(self, path: StrPath) -> None:
        """Writes the run. The end of the name decides the form.

        .svg and .pdf are pictures, .html is a page to zoom and search, .json a trace for
        chrome://tracing, Perfetto and `ripeline show`, .csv a table with a line for each task.

        Raises `ripeline.Error` for another ending, or if the file cannot be written. The file
        appears complete or not at all.
        """
        name = os.fspath(path)
        if name.endswith(".json"):
            self._simulated.write_trace(name)
        elif name.endswith(".csv"):
            _ripeline.write_text(name, self.csv())
        else:
            self.drawing.save(name)

    def __bool__(self) -> bool:
        return not self.stuck

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.drawing.svg()}
