"""Verdicts."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType

from ripeline import _ripeline
from ripeline._base import TYPE_CHECKING, Frozen, Record, copied, parsed
from ripeline._drawing import Drawing
from ripeline._errors import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ripeline._program import Program


class Wait(Record):
    """A task that cannot start at the end of a run that deadlocks."""

    task: str
    """Its stage, op and microbatch: `2F0`."""
    reason: str
    """The rest of the sentence `2F0 waits for …`."""
    member: int | None
    """The member of the tensor-parallel group; None if there is one member, or if all wait."""

    def __init__(self, task: str, reason: str, member: int | None = None) -> None:
        self._set(task=task, reason=reason, member=member)


class Counterexample(Record):
    """A run that was replayed before it was reported; the shortest of those that were found."""

    microbatches: int
    fewest: bool
    """Whether no smaller number of microbatches has such a run."""
    events: tuple[Mapping[str, Any], ...]
    """Starts, ends and arrivals, in order, as in the JSON of `ripeline verify`."""
    waits: tuple[Wait, ...]
    """For a deadlock: tasks that wait."""

    def __init__(
        self,
        microbatches: int,
        fewest: bool,
        events: tuple[Mapping[str, Any], ...],
        waits: tuple[Wait, ...],
    ) -> None:
        self._set(microbatches=microbatches, fewest=fewest, events=events, waits=waits)

    def __repr__(self) -> str:
        return self._shown("microbatches", "fewest", "waits")

    @staticmethod
    def _of(run: dict[str, Any]) -> Counterexample:
        waits = tuple(Wait(w["task"], w["for"], w.get("member")) for w in run["waits"])
        return Counterexample(run["microbatches"], run["fewest"], tuple(MappingProxyType(event) for event in run["events"]), waits)


class Repair(Record):
    """A change after which the whole program is proved, for the verdict's microbatches."""

    what: str
    """The kind of change: capacity, leaving, slots, fifo, sequential, assert; two joined by +."""
    text: str
    """The code to write, and where."""
    line: int | None
    column: int | None
    _repaired: str
    _broken: Program

    def __init__(
        self,
        what: str,
        text: str,
        line: int | None,
        column: int | None,
        _repaired: str,
        _broken: Program,
    ) -> None:
        self._set(what=what, text=text, line=line, column=column)
        self._set(_repaired=_repaired, _broken=_broken)

    @property
    def program(self) -> Program:
        """The changed program, with the params and the dispatch of the one that was judged."""
        return self._broken._with_text(self._repaired)


class Obligation(Record):
    """One of the five statements that a verdict is about."""

    name: str
    """deadlock, collectives, messages, memory or once."""
    outcome: str
    """proved, refuted or unknown."""
    method: str
    """The method of proof, such as `counters`; empty if there is none."""
    seconds: float | None
    """How long it took; None with `times=False`."""
    reason: str
    """The reason why it is not proved; empty if it is proved."""
    line: int | None
    """The line of the text that the reason is about."""
    column: int | None
    counterexample: Counterexample | None
    """The run that refutes it."""
    other_choices: Counterexample | None
    """For an unknown obligation: a run by choices that differ from the dispatch's."""
    repairs: tuple[Repair, ...]
    """The nearest first."""
    repairs_note: str
    """The reason why there are no repairs; may be empty."""

    def __init__(
        self,
        name: str,
        outcome: str,
        method: str,
        seconds: float | None,
        reason: str,
        line: int | None,
        column: int | None,
        counterexample: Counterexample | None,
        other_choices: Counterexample | None,
        repairs: tuple[Repair, ...],
        repairs_note: str,
    ) -> None:
        self._set(name=name, outcome=outcome, method=method, seconds=seconds, reason=reason)
        self._set(line=line, column=column, counterexample=counterexample)
        self._set(other_choices=other_choices, repairs=repairs, repairs_note=repairs_note)


class Verdict(Frozen):
    """The verdict of `Program.verify()`: the outcome, and what it rests on.

    An outcome is `proved`, `refuted` or `unknown`. Only a proved verdict is true, so that unknown
    never passes:

    >>> import ripeline
    >>> if not ripeline.Program("1f1b", ranks=4).verify():
    ...     raise SystemExit("not proved")

    In a notebook a refuted verdict is a picture of the deadlock, other verdicts are text. Here
    rank 0 has no warm-up, so that its backward comes before the forward for which rank 1 waits:

    >>> verdict = ripeline.Program('''pipeline mine {
    ...   microbatches any;
    ...   stages 2;
    ...   place s on s;
    ...   op F forward  { cost 1;  needs F at prev; }
    ...   op B backward { cost 2;  needs F at here, B at next; }
    ...   order mine on r {
    ...     let warm = min(r, microbatches);
    ...     F * warm;  (F B) * (microbatches - warm);  B * warm;
    ...   }
    ...   dispatch in order mine;
    ... }''').verify()
    >>> verdict.outcome
    'refuted'
    >>> deadlock = verdict.obligations[0]
    >>> deadlock.name, deadlock.counterexample.microbatches
    ('deadlock', 2)
    >>> [wait.task for wait in deadlock.counterexample.waits]
    ['0B0', '1F1']
    """

    _verdict: _ripeline.Verdict
    _program: Program

    def __init__(self, program: Program, verdict: _ripeline.Verdict) -> None:
        self._set(_program=program, _verdict=verdict)

    @property
    def program(self) -> Program:
        """The program that was judged."""
        return self._program

    @property
    def outcome(self) -> str:
        """proved, refuted or unknown."""
        return self._verdict.outcome

    @property
    def proved(self) -> bool:
        """Whether the outcome is `proved`."""
        return self.outcome == "proved"

    @cached_property
    def text(self) -> str:
        """The report of `ripeline verify`."""
        return self._verdict.text()

    def json(self) -> str:
        """The document of `ripeline verify --format json`."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return self._verdict.json()

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = parsed(self._json)
        return document

    @cached_property
    def obligations(self) -> tuple[Obligation, ...]:
        """The five obligations: deadlock, collectives, messages, memory, once."""
        repaired = iter(self._verdict.repaired_texts())

        def run_of(run: dict[str, Any] | None) -> Counterexample | None:
            return None if run is None else Counterexample._of(run)

        def repairs_of(entry: dict[str, Any]) -> tuple[Repair, ...]:
            return tuple(
                Repair(
                    what=r["what"],
                    text=r["text"],
                    line=r.get("line"),
                    column=r.get("column"),
                    _repaired=next(repaired),
                    _broken=self.program,
                )
                for r in entry.get("repairs", [])
            )

        return tuple(
            Obligation(
                name=entry["name"],
                outcome=entry["verdict"],
                method=entry["method"],
                seconds=entry.get("seconds"),
                reason=entry.get("reason", ""),
                line=entry.get("line"),
                column=entry.get("column"),
                counterexample=run_of(entry.get("counterexample")),
                other_choices=run_of(entry.get("other_choices")),
                repairs=repairs_of(entry),
                repairs_note=entry.get("repairs_note", ""),
            )
            for entry in self._document["obligations"]
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences on which the verdict rests."""
        return tuple(self._document["assumptions"])

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Text that has a meaning which was hardly intended."""
        return tuple(Diagnostic._of(entry) for entry in self._document["warnings"])

    @property
    def peaks(self) -> dict[str, list[int | None]]:
        """By resource, the most that each rank holds, for any timing; None if that grows with m.

        Empty unless `memory` is proved.
        """
        memory = next(o for o in self._document["obligations"] if o["name"] == "memory")
        return copied(dict(memory.get("peak", {})))

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Changes after which the whole program is proved, the nearest first."""
        return tuple(repair for o in self.obligations for repair in o.repairs)

    @cached_property
    def run(self) -> Drawing | None:
        """The run that refutes the program, drawn with the program's costs.

        None if no run refutes it, or if the run is one of the members of a tensor-parallel group.
        """
        drawing = self._verdict.drawn_run()
        return None if drawing is None else Drawing(drawing)

    def __bool__(self) -> bool:
        return self.proved

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if self.run is not None:
            bundle["image/svg+xml"] = self.run.svg()
        return bundle
