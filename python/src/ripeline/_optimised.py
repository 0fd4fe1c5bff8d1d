"""The best orders that a search finds, with bounds on what is possible."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from ripeline import _ripeline
from ripeline._base import (
    TYPE_CHECKING,
    Frozen,
    Record,
    copied,
    costs_text,
    counts_text,
    number_text,
    parsed,
)
from ripeline._errors import Error
from ripeline._progress import watched
from ripeline._run import Run

if TYPE_CHECKING:
    from typing import Any, SupportsIndex, overload

    from ripeline._base import StrPath
    from ripeline._program import Program
    from ripeline._progress import Watch
else:

    def overload(function):
        return function


Amount = float | str
"""A number, or a text with a unit, as `"24GB"` and `"0.6ms"`."""


class Optimised(Frozen):
    """The best order that `Program.optimise()` or `ripeline.optimise()` found, and how good it is.

    The order is proved for every timing, and `wall`, the time of its step, is the simulator's. No
    order takes less than `bound`. In a notebook an Optimised is the timeline of the order's run, in
    a terminal the report of `ripeline optimise`.

    >>> import ripeline
    >>> best = ripeline.optimise(ranks=2, microbatches=4, memory=2, solver=False)
    >>> best.status, best.wall, best.bound
    ('optimal', 13, 13)
    >>> best.program.simulate().wall
    13

    Only a result with an order is true. If no order fits the memory, or if none was found that is
    as fast as the program's own dispatch, `text` says so, and attributes of the order, such as
    `program` and `wall`, raise `ripeline.Error`.
    """

    _optimised: _ripeline.Optimised

    def __init__(self, optimised: _ripeline.Optimised) -> None:
        self._set(_optimised=optimised)

    @property
    def text(self) -> str:
        """The report of `ripeline optimise`; if there is no order, the reason."""
        return self._optimised.text

    def json(self) -> str:
        """The document of `ripeline optimise --format json`."""
        return self._optimised.json

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = parsed(self.json())
        return document

    def _of_order(self, name: str) -> Any:
        if name not in self._document:
            raise Error(self.text.rstrip("\n"))
        return self._document[name]

    @property
    def status(self) -> str:
        """optimal, feasible, none (no order is written) or infeasible (no order fits)."""
        return str(self._document["status"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the model, on a profile, and on why no solver was used."""
        return tuple(self._optimised.notes)

    @property
    def unit(self) -> str:
        """The unit of times: ns, us, ms, s, or `unit` if the costs have none."""
        return str(self._of_order("unit"))

    @property
    def microbatches(self) -> int:
        """The microbatches of the step."""
        return int(self._of_order("microbatches"))

    @property
    def wall(self) -> float:
        """From the first start to the last end of all ranks (makespan)."""
        wall: float = self._of_order("wall")
        return wall

    @property
    def span(self) -> float:
        """From the first start to the last end of one rank, the longest."""
        span: float = self._of_order("span")
        return span

    @property
    def bound(self) -> float:
        """A lower bound on the objective, `wall` or `span`, for every order that may be chosen."""
        bound: float = self._of_order("bound")
        return bound

    @property
    def bound_by(self) -> str:
        """The name of the bound, such as `work of rank 0`."""
        return str(self._of_order("bound_by"))

    @property
    def gap(self) -> float:
        """The share of the time by which a better order could be shorter, at most; 0 if optimal."""
        gap: float = self._of_order("gap")
        return gap

    @property
    def what_binds(self) -> str:
        """One line on what limits the time; without an optimum, on what the bound counts."""
        return self._optimised.what_binds()

    @property
    def placement(self) -> str | None:
        """The placement that was chosen, such as `chain` or `loop of 2`; None of a program."""
        placement: str | None = self._of_order("placement")
        return placement

    @property
    def first_layers(self) -> tuple[int, ...] | None:
        """The first layer of each stage; None unless a profile of layers was cut into stages."""
        layers: list[int] | None = self._of_order("first_layers")
        return None if layers is None else tuple(layers)

    @property
    def own(self) -> float | None:
        """The objective with the program's own dispatch; None of a model, or if that deadlocks."""
        own: float | None = self._document["own"]
        return own

    @property
    def seconds(self) -> float:
        """The duration of the search."""
        return float(self._document["seconds"])

    @property
    def solver(self) -> bool:
        """Whether the solver CP-SAT worked beside the search; if not, `notes` has the reason."""
        return bool(self._document["solver"] != "none")

    @property
    def improvements(self) -> list[dict[str, Any]]:
        """Each better order that was found: its seconds, value, bound and method."""
        return copied(list(self._document["progress"]))

    @property
    def race(self) -> dict[str, Any] | None:
        """The comparison under times that vary, as in the JSON; None if times do not vary."""
        return copied(self._document.get("race"))

    @cached_property
    def program(self) -> Program:
        """The program that commits each rank to the order; after a race, to what won."""
        from ripeline._program import Program

        return Program._of(self._optimised.program())

    @cached_property
    def run(self) -> Run:
        """The run of the best order by the mean times, with its timeline: `run.drawing`."""
        from ripeline._program import Program

        return Run(Program._of(self._optimised.order()), self._optimised.run())

    def save(self, path: StrPath) -> None:
        """Writes the program (.ripe), or its run: a picture, a trace or a table.

        The end of the name decides the form: .ripe, .svg, .pdf, .html, .json or .csv. Raises
        `ripeline.Error` for another ending, if there is no order, or if the file cannot be written.
        """
        name = os.fspath(path)
        if name.endswith(".ripe"):
            _ripeline.write_text(name, self.program.text)
        else:
            self.run.save(name)

    def __bool__(self) -> bool:
        return "wall" in self._document

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if self:
            bundle["image/svg+xml"] = self.run.drawing.svg()
        return bundle


class CurvePoint(Record):
    """The best order for one memory. Its fields are None if there is no order."""

    memory: float
    """How much a rank may hold, in the curve's `memory_unit`."""
    status: str
    """optimal, feasible, none (none was found) or infeasible (no order fits)."""
    wall: float | None
    span: float | None
    bound: float | None
    """A lower bound on the objective."""
    gap: float | None
    """The share of the time by which a better order could be shorter, at most."""
    placement: str | None

    def __init__(
        self,
        memory: float,
        status: str,
        wall: float | None,
        span: float | None,
        bound: float | None,
        gap: float | None,
        placement: str | None,
    ) -> None:
        self._set(memory=memory, status=status, wall=wall, span=span)
        self._set(bound=bound, gap=gap, placement=placement)

    @staticmethod
    def _of(entry: dict[str, Any]) -> CurvePoint:
        return CurvePoint(
            memory=entry["memory"],
            status=entry["status"],
            wall=entry.get("wall"),
            span=entry.get("span"),
            bound=entry.get("bound"),
            gap=entry.get("gap"),
            placement=entry.get("placement"),
        )


class MemoryCurve(Frozen):
    """The best time of a model for each memory of a rank, as `ripeline.optimise()` found it.

    In a notebook the curve is a picture, with the schedules of the library as points; in a terminal
    it is a table.

    >>> import ripeline
    >>> curve = ripeline.optimise(ranks=2, microbatches=4, memory=(1, 2), solver=False)
    >>> [(point.memory, point.wall) for point in curve.points]
    [(1.0, 20.0), (2.0, 13.0)]
    """

    _curve: _ripeline.Curve

    def __init__(self, curve: _ripeline.Curve) -> None:
        self._set(_curve=curve)

    @cached_property
    def text(self) -> str:
        """The table of `ripeline optimise --memory A..B`."""
        return self._curve.text()

    def json(self) -> str:
        """The document of `ripeline optimise --memory A..B --format json`."""
        return self._json

    @cached_property
    def _json(self) -> str:
        return self._curve.json()

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = parsed(self._json)
        return document

    @cached_property
    def points(self) -> tuple[CurvePoint, ...]:
        """The points, by growing memory."""
        return tuple(CurvePoint._of(entry) for entry in self._document["points"])

    @property
    def library(self) -> list[dict[str, Any]]:
        """The library's orders with the same costs: each one's name, memory, wall and span."""
        return copied(list(self._document["library"]))

    @property
    def unit(self) -> str:
        """The unit of times."""
        return str(self._document["unit"])

    @property
    def memory_unit(self) -> str:
        """The unit of memories: `microbatches`, one of bytes, or empty as for `activation`."""
        return str(self._document["memory_unit"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the model and on a profile."""
        return tuple(self._curve.notes)

    def svg(self, width: int | None = None) -> str:
        """The curve as a picture, `width` pixels wide (1200).

        Raises `ripeline.Error` if no memory has an order.
        """
        return self._curve.svg(width)

    def save(self, path: StrPath) -> None:
        """Writes the picture as .svg or .pdf. Raises `ripeline.Error` as `Drawing.save()` does."""
        name = os.fspath(path)
        if name.endswith(".svg"):
            _ripeline.write_text(name, self.svg())
        elif name.endswith(".pdf"):
            _ripeline.write_pdf(name, self.svg())
        else:
            raise Error(f"{name}: its name must end in .svg or .pdf")

    def __bool__(self) -> bool:
        return any(point.wall is not None for point in self.points)

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if self:
            bundle["image/svg+xml"] = self.svg()
        return bundle


def searching(
    *,
    microbatches: SupportsIndex | None,
    rank_costs: Mapping[str, Amount] | str | None,
    profile: StrPath | None,
    unit: str | None,
    latency: Amount | None,
    bandwidth: Amount | None = None,
    bytes: Amount | None = None,
    control: Amount | None,
    jitter: str | None,
    seed: int,
    objective: str,
    seconds: float,
    solver: bool,
    threads: int,
    seeds: int | None,
    quantile: int | None,
    every_count: bool,
) -> _ripeline.Searching:
    """The options that programs and models have in common."""
    made = _ripeline.Searching()
    made.microbatches = counts_text(microbatches)
    made.set_times(
        costs_text(rank_costs),
        "" if profile is None else os.fspath(profile),
        unit or "",
        number_text(latency),
        number_text(bandwidth),
        number_text(bytes),
        number_text(control),
        jitter or "",
        seed,
    )
    made.objective = objective
    made.seconds = number_text(seconds)
    made.solver = solver
    made.threads = threads
    made.seeds = seeds
    made.quantile = quantile
    made.every_count = every_count
    return made


_DECIMALS = 4  # as many as a model's costs may have


def _texts(amounts: Sequence[Amount] | Mapping[str, Amount] | Amount | None) -> list[str]:
    """Amounts as the command line splits them at commas."""
    if amounts is None:
        return []
    if isinstance(amounts, Mapping):
        return [f"{kind}={number_text(amount, _DECIMALS)}" for kind, amount in amounts.items()]
    if isinstance(amounts, str):
        return amounts.split(",")
    if isinstance(amounts, Sequence):
        return [number_text(amount, _DECIMALS) for amount in amounts]
    return [number_text(amounts, _DECIMALS)]


@overload
def optimise(
    *,
    memory: Amount | None = None,
    ranks: int | None = None,
    microbatches: SupportsIndex | None = None,
    costs: Sequence[Amount] | Mapping[str, Amount] | str | None = None,
    activation: Sequence[Amount] | Amount | None = None,
    placement: str | None = None,
    chunks: int | None = None,
    profile: StrPath | None = None,
    unit: str | None = None,
    latency: Amount | None = None,
    control: Amount | None = None,
    jitter: str | None = None,
    seed: int = 1,
    objective: str = "wall",
    seconds: float = 10,
    solver: bool = True,
    threads: int = 2,
    seeds: int | None = None,
    quantile: int | None = None,
    every_count: bool = False,
    progress: Watch = None,
) -> Optimised: ...


@overload
def optimise(
    *,
    memory: tuple[Amount, Amount],
    ranks: int | None = None,
    microbatches: SupportsIndex | None = None,
    costs: Sequence[Amount] | Mapping[str, Amount] | str | None = None,
    activation: Sequence[Amount] | Amount | None = None,
    placement: str | None = None,
    chunks: int | None = None,
    profile: StrPath | None = None,
    unit: str | None = None,
    latency: Amount | None = None,
    control: Amount | None = None,
    seed: int = 1,
    objective: str = "wall",
    seconds: float = 10,
    solver: bool = True,
    threads: int = 2,
    progress: Watch = None,
) -> MemoryCurve: ...


def optimise(
    *,
    memory: tuple[Amount, Amount] | Amount | None = None,
    ranks: int | None = None,
    microbatches: SupportsIndex | None = None,
    costs: Sequence[Amount] | Mapping[str, Amount] | str | None = None,
    activation: Sequence[Amount] | Amount | None = None,
    placement: str | None = None,
    chunks: int | None = None,
    profile: StrPath | None = None,
    unit: str | None = None,
    latency: Amount | None = None,
    control: Amount | None = None,
    jitter: str | None = None,
    seed: int = 1,
    objective: str = "wall",
    seconds: float = 10,
    solver: bool = True,
    threads: int = 2,
    seeds: int | None = None,
    quantile: int | None = None,
    every_count: bool = False,
    progress: Watch = None,
) -> Optimised | MemoryCurve:
    """Searches the best order of a model that the arguments describe, with a bound for all orders.

    - `ranks` (4) and `microbatches` (8).
    - `costs`: the times of F, I and W in all of a rank's layers for one microbatch, and the latency
      of a message, each with up to 4 decimals, to which floats are rounded: `(24, 23, 12, 1)`, or with units, `("24ms", "23ms", "12ms", "0.5ms")`. With
      whole backwards: `{"F": 24, "B": 35, "C": 1}`. Without them `(1, 1, 1, 0)`.
    - `profile`: instead of `costs`, a JSON file with the costs of each layer, and `latency`.
    - `memory`: how many microbatches a rank may hold in all of its layers; without it, as many as
      there are ranks. With `activation` in its unit, as `"24GB"`. A pair, as `(4, 8)` or
      `("8GB", "24GB")`, gives a `MemoryCurve` of the best time for each memory of the range.
    - `activation`: what a microbatch holds in all of a rank's layers from F on, and what is left of
      it from the end of I to that of W: `("1.9GB", "0.3GB")`. With whole backwards one amount.
    - `placement`: `chain` (one stage on a rank, the default), `loop` (`chunks` stages, 2), `v`
      (two), or `any`: chain, V and loops of 2 to 4 stages, which may be faster and take longer to
      search.
    - `objective`: `wall` or `span`, the time that is made small.
    - `seconds`: the time for all of it; for a curve, for each memory. An optimum ends it early.
    - `solver`: whether the solver CP-SAT of OR-tools works beside the search on `threads` threads,
      if it is installed; `notes` says if it is not. With it, two searches may differ.
    - `seed`: of the search, and of what is drawn.
    - `jitter`, `seeds`, `quantile`: for times that vary. The order and hints that follow it race on
      as many draws as `seeds` says; with `quantile=95` that percentile counts, not the mean.
    - `every_count`: makes a program for every number of microbatches, where that is proved.
    - `progress`: a function that gets a `Progress` with the best time and the bound so far, or True
      to show it. Ctrl-C ends the search without a result; `seconds` is the way to end it with one.

    >>> import ripeline
    >>> best = ripeline.optimise(
    ...     ranks=4, microbatches=8, costs=(24, 23, 12, 1), memory=4, solver=False
    ... )
    >>> best.wall, best.gap, best.placement
    (589, 0.0, 'chain')

    Raises `ripeline.Error` if the arguments do not fit together.
    """
    made = searching(
        microbatches=microbatches,
        rank_costs=None,
        profile=profile,
        unit=unit,
        latency=latency,
        control=control,
        jitter=jitter,
        seed=seed,
        objective=objective,
        seconds=seconds,
        solver=solver,
        threads=threads,
        seeds=seeds,
        quantile=quantile,
        every_count=every_count,
    )
    made.ranks = ranks
    made.costs = _texts(costs)
    made.activation = _texts(activation)
    made.placement = placement
    made.chunks = chunks
    if isinstance(memory, tuple):
        least, most = memory
        made.memory = f"{number_text(least)}..{number_text(most)}"
        with watched(progress, "optimise") as told:
            return MemoryCurve(_ripeline.memory_curve(made, told))
    made.memory = number_text(memory)
    with watched(progress, "optimise") as told:
        return Optimised(_ripeline.optimise_model(made, told))
