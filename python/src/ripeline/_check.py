"""Schedules of PyTorch, judged."""

from __future__ import annotations

import os
from functools import cached_property

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, Record, copied, counts_text, number_text, parsed

if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from ripeline._base import StrPath


class Finding(Record):
    """A violation of a rule in a schedule."""

    rule: str
    """The rule, such as `deadlock` or `missing`."""
    row: int
    """The row of the file, from 1."""
    column: int | None
    """The cell in that row, from 1; None if the finding is about no cell."""
    task: str
    """The action, or the text of the cell."""
    message: str

    def __init__(self, rule: str, row: int, column: int | None, task: str, message: str) -> None:
        self._set(rule=rule, row=row, column=column, task=task, message=message)


class FixedSchedule(Record):
    """A schedule of PyTorch that passes, made from one that does not."""

    csv: str
    """The text of the file."""
    changes: str
    """A line for each change, and one with the peaks."""

    def __init__(self, csv: str, changes: str) -> None:
        self._set(csv=csv, changes=changes)


class CheckReport(Frozen):
    """The verdict on a schedule of PyTorch. Only a proved schedule is true."""

    _checked: _ripeline.Checked

    def __init__(self, checked: _ripeline.Checked) -> None:
        self._set(_checked=checked)

    @property
    def outcome(self) -> str:
        """proved, refuted or unknown."""
        return self._checked.outcome

    @property
    def proved(self) -> bool:
        """Whether the outcome is `proved`."""
        return self.outcome == "proved"

    @cached_property
    def text(self) -> str:
        """The report of `ripeline check`."""
        return self._checked.text()

    def json(self) -> str:
        """The document of `ripeline check --format json`."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return self._checked.json()

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = parsed(self._json)
        return document

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The first 1000 violations of rules, by place."""
        return tuple(
            Finding(f["rule"], f["row"], f.get("column"), f["task"], f["message"])
            for f in self._document["findings"]
        )

    @property
    def layouts(self) -> list[dict[str, Any]]:
        """The verdict of every layout and kernel level, with `layouts=True`; else empty."""
        return copied(list(self._document.get("layouts", [])))

    def fix(self) -> FixedSchedule:
        """The repair that `ripeline check --fix` writes: a schedule that passes.

        All computations are kept, and as many as possible stay where they are.

        Raises `ripeline.Error` if there is nothing to repair, or if no repair is found.
        """
        fixed = self._checked.fixed()
        return FixedSchedule(csv=fixed.csv, changes=fixed.changes)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences on which the verdict rests."""
        return tuple(self._document["assumptions"])

    def __bool__(self) -> bool:
        return self.proved

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


def check_csv(
    path: StrPath,
    *,
    placement: str | None = None,
    form: str | None = None,
    ranks: int | None = None,
    stages: int | None = None,
    microbatches: SupportsIndex | None = None,
    memory: float | str | None = None,
    stage_memory: int | None = None,
    layout: str | None = None,
    kernels: str | None = None,
    reduce: bool = True,
    layouts: bool = False,
) -> CheckReport:
    """Judges a schedule of PyTorch (CSV) before a launch: can it hang, mix or skip microbatches?

    `placement` says where the schedule's class puts the stages: `chain` (one on each rank), `loop`
    (interleaved) or `v`. `form` is `compute_only` or `compute_comms`. Sizes that are not
    given are taken from the file. `memory` is a rank's room, in microbatches of all of its stages;
    `stage_memory` is that of a stage, in its activations.

    `layout` says how many communicators there are: one for the `group` (default), one for each
    `pair` of ranks, or one for each `edge`, which is a pair and a direction. `kernels` says which
    kernels share a device: all (`per-stream`, the default), all in `launch-order`, or no two
    (`serial`). With `layouts=True` the report has a verdict for each of these combinations.
    `reduce=False` is for a PyTorch from before REDUCE_GRAD.

    >>> import pathlib, tempfile
    >>> import ripeline
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "schedule.csv"
    >>> _ = file.write_text("0F0,0B0,0F1,0B1\\n1F0,1F1,1B0,1B1\\n")
    >>> report = ripeline.check_csv(file, placement="chain")
    >>> report.outcome, report.findings[0].rule
    ('refuted', 'deadlock')
    >>> print(report.fix().csv, end="")
    0F0,0B0,0F1,0B1
    1F0,1B0,1F1,1B1

    Raises `ripeline.Error` if the file cannot be read, is no schedule, or does not fit the
    arguments.
    """
    return CheckReport(
        _ripeline.check_csv(
            os.fspath(path),
            placement,
            form,
            ranks,
            stages,
            counts_text(microbatches),
            None if memory is None else number_text(memory),
            stage_memory,
            layout,
            kernels,
            reduce,
            layouts,
        )
    )
