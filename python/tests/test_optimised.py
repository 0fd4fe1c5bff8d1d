"""Searches for the best order: they find, print and write what `ripeline optimise` does."""

from __future__ import annotations

import json
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Output, command

import ripeline
from ripeline import Error, MemoryCurve, Optimised, Program, Progress

# With few slots an order may deadlock, as another message may take a slot; `ready by bf` does not.
SLOTS = """\
pipeline slots {
  microbatches 12;
  stages 4;
  place s on s;
  op F forward  { needs F at prev via slots 1;  acquires activation; }
  op B backward { needs F at here, B at next via slots 1;  releases activation; }
  resource activation per rank { capacity 4; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
"""


def command_optimise(flags: str, folder: Path | None = None) -> Output:
    return command("optimise", *shlex.split(flags), "--solver", "none", folder=folder)


def without_times(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    for timed in (document, *document["progress"]):
        assert timed.pop("seconds") >= 0
    return document


def check_equal(best: Optimised, flags: str, folder: Path) -> None:
    """The search must be one that ends with an optimum, since others depend on the machine."""
    assert best and best.status == "optimal"
    written = command_optimise(f"{flags} -o best.ripe --picture best.svg", folder)
    assert written.code == 0
    assert written.out.startswith(best.text)
    assert written.out.removeprefix(best.text).startswith("written: best.ripe")
    best.save(folder / "python.ripe")
    best.save(folder / "python.svg")
    for ending in ("ripe", "svg"):
        ours, theirs = folder / f"python.{ending}", folder / f"best.{ending}"
        assert ours.read_bytes() == theirs.read_bytes(), ending
    document = command_optimise(f"{flags} --format json", folder).out
    assert without_times(best.json()) == without_times(document)


@pytest.mark.parametrize(
    "arguments, flags",
    [
        ({"ranks": 4, "microbatches": 8, "memory": 4}, "--ranks 4 -m 8 --memory 4"),
        (
            {"ranks": 3, "microbatches": 6, "costs": (3, 2.5, 1.25, 0.5), "memory": "4"},
            "--ranks 3 -m 6 --costs 3,2.5,1.25,0.5 --memory 4",
        ),
        (
            {"ranks": 4, "microbatches": 8, "costs": {"F": 1, "B": 2, "C": 0}},
            "--ranks 4 -m 8 --costs F=1,B=2,C=0",
        ),
        (
            {
                "ranks": 2,
                "microbatches": 4,
                "costs": ("2ms", "2ms", "1ms", "0.1ms"),
                "activation": ("1.9GB", "0.3GB"),
                "memory": "8GB",
                "placement": "v",
                "seed": 2,
            },
            "--ranks 2 -m 4 --costs 2ms,2ms,1ms,0.1ms --activation 1.9GB,0.3GB --memory 8GB "
            "--placement v --seed 2",
        ),
        (
            {
                "ranks": 4,
                "microbatches": 12,
                "costs": "24,23,12,1",
                "memory": 4,
                "objective": "span",
                "every_count": True,
            },
            "--ranks 4 -m 12 --costs 24,23,12,1 --memory 4 --objective span --every-count",
        ),
    ],
    ids=["numbers", "text", "whole", "bytes", "every_count"],
)
def test_models(arguments: dict[str, Any], flags: str, tmp_path: Path) -> None:
    check_equal(ripeline.optimise(**arguments, solver=False), flags, tmp_path)


def test_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tasks = [
        {"op": op, "stage": layer, "mean": mean * (7 if layer == 7 else 1)}
        for layer in range(8)
        for op, mean in (("F", 2), ("I", 2), ("W", 1))
    ]
    profile = {"schema": "ripeline.profile/1", "unit": "us", "tasks": tasks}
    Path("layers.json").write_text(json.dumps(profile))
    best = ripeline.optimise(
        ranks=2, microbatches=6, profile="layers.json", latency=0.25, memory=4, solver=False
    )
    check_equal(best, "--profile layers.json --ranks 2 -m 6 --latency 0.25 --memory 4", tmp_path)
    assert (best.first_layers, best.unit, best.own) == ((0, 7), "us", None)


@pytest.mark.parametrize(
    "name, params, arguments, flags",
    [
        ("gpipe", {"ranks": 2}, {}, "-m 4"),
        (
            "interleaved_1f1b",
            {"ranks": 4},
            {"rank_costs": {"F": 1, "B": 2}, "latency": 0.1},
            "-m 8 --rank-costs F=1,B=2 --latency 0.1",
        ),
    ],
)
def test_programs(
    name: str, params: dict[str, int], arguments: dict[str, Any], flags: str, tmp_path: Path
) -> None:
    microbatches = int(shlex.split(flags)[1])
    program = Program(name, **params)  # type: ignore[arg-type]
    best = program.optimise(microbatches, **arguments, solver=False)
    defines = " ".join(f"-D {param}={value}" for param, value in params.items())
    check_equal(best, f"{name} {defines} {flags}", tmp_path)
    assert best.own is not None and best.own >= best.wall
    assert best.placement is None


def test_a_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("given.csv").write_text(Program("gpipe", ranks=2).export_csv(4))
    best = Program("given.csv", placement="chain").optimise(solver=False)
    check_equal(best, "given.csv --placement chain", tmp_path)


def test_the_program_is_proved_and_its_run_is_the_reports() -> None:
    best = ripeline.optimise(
        ranks=3, microbatches=6, costs=(3, 2.5, 1.25, 0.5), memory=4, solver=False
    )
    assert best.program.verify().proved
    assert best.program.microbatches == (6, 6)
    run = best.program.simulate(latency=0.5)
    assert (run.wall, run.span) == (best.wall, best.span) == (best.run.wall, best.run.span)
    assert (best.run.program, best.run.unit) == (best.program, best.unit)
    assert best.bound <= best.wall and best.gap == (best.wall - best.bound) / best.wall
    assert best.bound_by and best.what_binds in best.text
    assert (best.microbatches, best.placement, best.race) == (6, "chain", None)
    assert best.improvements[-1]["value"] == best.wall and best.seconds >= 0
    bundle = best._repr_mimebundle_()
    assert bundle["text/plain"] == repr(best) == best.text.rstrip("\n")
    assert bundle["image/svg+xml"] == best.run.drawing.svg()


def test_no_order_fits() -> None:
    best = ripeline.optimise(ranks=2, microbatches=2, memory=0.5, placement="any")
    told = command_optimise("--ranks 2 -m 2 --memory 0.5 --placement any")
    assert (bool(best), best.status, told.code) == (False, "infeasible", 1)
    assert told.err == f"ripeline: {best.text}"
    for attribute in ("program", "run", "wall", "bound", "what_binds"):
        with pytest.raises(Error, match="no order fits"):
            getattr(best, attribute)
    assert best._repr_mimebundle_() == {"text/plain": repr(best)}
    with pytest.raises(Error, match="no order fits"):
        best.save("/nowhere/best.ripe")


def test_the_own_dispatch_is_kept_where_it_is_faster(tmp_path: Path) -> None:
    file = tmp_path / "slots.ripe"
    file.write_text(SLOTS)
    best = Program(file).optimise(seconds=0.3, solver=False)
    told = command_optimise(f"{file} --seconds 0.3")
    assert (bool(best), best.status, told.code) == (False, "none", 3)
    assert best.own == Program(file).simulate().wall
    assert best.text.startswith("nothing is written: with its own dispatch, which is proved, ")
    assert f"ripeline: {best.text}" in told.err


def test_orders_race_where_times_vary() -> None:
    best = ripeline.optimise(
        ranks=4,
        microbatches=8,
        costs=(24, 23, 12, 1),
        memory=7,
        jitter="lognormal=0.5",
        seeds=10,
        seconds=1,
        solver=False,
    )
    assert best.race is not None and best.race["seeds"] == 10
    assert best.race["trials"][0]["dispatch"] == "in order best"
    assert "in order best" in best.text
    assert best.program.verify(repairs=False).proved
    assert best.run.wall == best.wall


CURVE = {"ranks": 3, "microbatches": 5, "costs": (2, 2, 1, 0), "memory": (0.5, 3)}
CURVE_FLAGS = "--ranks 3 -m 5 --costs 2,2,1,0 --memory 0.5..3"


def test_a_curve(tmp_path: Path) -> None:
    curve = ripeline.optimise(**CURVE, solver=False)  # type: ignore[call-overload]
    assert isinstance(curve, MemoryCurve) and curve
    assert [point.memory for point in curve.points] == [0.5, 1.5, 2.5]
    assert [point.status for point in curve.points] == ["infeasible", "optimal", "optimal"]
    assert curve.points[0].wall is None
    assert {one["name"] for one in curve.library} >= {"1f1b", "zb_h1"}
    assert (curve.unit, curve.memory_unit, curve.notes) == ("unit", "microbatches", ())
    picture = tmp_path / "command.svg"
    assert command_optimise(f"{CURVE_FLAGS} --picture {picture}").out == curve.text
    assert command_optimise(f"{CURVE_FLAGS} --format json").out == curve.json()
    curve.save(tmp_path / "python.svg")
    assert (tmp_path / "python.svg").read_bytes() == picture.read_bytes()
    assert curve._repr_mimebundle_() == {
        "text/plain": curve.text.rstrip("\n"),
        "image/svg+xml": curve.svg(),
    }
    with pytest.raises(Error, match=r"must end in \.svg or \.pdf"):
        curve.save(tmp_path / "curve.html")


def test_a_curve_without_an_order() -> None:
    curve = ripeline.optimise(ranks=2, microbatches=2, memory=(0.1, 0.2), solver=False)
    assert (bool(curve), curve._repr_mimebundle_()) == (False, {"text/plain": repr(curve)})
    with pytest.raises(Error, match="no memory has an order"):
        curve.svg()


@pytest.mark.parametrize(
    "arguments, flags",
    [
        ({"costs": (1, 2, 3)}, "--costs 1,2,3"),
        ({"memory": 0}, "--memory 0"),
        ({"memory": "24GB"}, "--memory 24GB"),
        ({"memory": ("1GB", "4GB")}, "--memory 1GB..4GB"),
        ({"memory": (3, 1)}, "--memory 3..1"),
        ({"memory": (1, 3), "jitter": "uniform=0.1"}, "--memory 1..3 --jitter uniform=0.1"),
        ({"activation": "100,200"}, "--activation 100,200"),
        ({"activation": (1.5, 1)}, "--activation 1.5,1"),
        ({"chunks": 3}, "--chunks 3"),
        ({"latency": 1}, "--latency 1"),
        ({"profile": "/nowhere.json"}, "--profile /nowhere.json"),
        ({"ranks": 1000, "microbatches": 10**6}, "--ranks 1000 -m 1000000"),
        ({"seeds": 20}, "--seeds 20"),
        ({"quantile": 95}, "--quantile 95"),
        ({"ranks": 0}, "--ranks 0"),
        ({"ranks": 1025}, "--ranks 1025"),
        ({"threads": 0}, "--threads 0"),
        ({"seeds": 1}, "--seeds 1"),
        ({"quantile": 100}, "--quantile 100"),
        ({"placement": "loop", "chunks": 9}, "--placement loop --chunks 9"),
        ({"seconds": -1}, "--seconds -1"),
        ({"seconds": -0.5}, "--seconds -0.5"),
    ],
    ids=str,
)
def test_errors_are_the_commands(arguments: dict[str, Any], flags: str) -> None:
    told = command_optimise(flags)
    assert told.code == 2
    with pytest.raises(Error) as raised:
        ripeline.optimise(**arguments)
    assert told.err.splitlines()[0] == f"ripeline: {raised.value}"


def test_errors_of_programs() -> None:
    program = Program("bf", ranks=2)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rank_costs": {"Q": 1}}, "--rank-costs Q=1"),
        ({"every_count": True, "jitter": "uniform=0.1"}, "--every-count --jitter uniform=0.1"),
    ]
    for arguments, flags in wrong:
        with pytest.raises(Error) as raised:
            program.optimise(4, **arguments)
        told = command_optimise(f"bf -D ranks=2 -m 4 {flags}")
        assert told.err.splitlines()[0] == f"ripeline: {raised.value}"
    with pytest.raises(Error, match="microbatches"):
        program.optimise()


def test_results_never_change() -> None:
    best = ripeline.optimise(ranks=2, microbatches=4, memory=2, solver=False)
    curve = ripeline.optimise(ranks=2, microbatches=2, memory=(1, 1), solver=False)
    for result in (best, curve):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(result, "text", "")
    best.improvements.clear()
    assert best.improvements


def test_the_solver_works_beside_the_search_or_a_note_says_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def searched() -> Optimised:
        return ripeline.optimise(
            ranks=4, microbatches=8, costs=(24, 23, 12, 1), memory=3, seconds=1.5
        )

    best = searched()
    if not best.solver:
        (note,) = best.notes
        assert note.startswith("without the solver: ripeline-solver: OR-tools was not found")
    monkeypatch.setenv("RIPELINE_SOLVER", "/nowhere/ripeline-solver")
    without = searched()
    assert not without.solver
    assert without.notes[0].startswith("without the solver: ripeline-solver cannot be started")


class Enough(Exception):
    """Raised by a progress callback."""


def test_progress_has_the_best_so_far_and_may_end_the_search() -> None:
    seen: list[Progress] = []

    def callback(progress: Progress) -> None:
        seen.append(progress)
        if progress.seconds > 0.5:
            raise Enough

    with pytest.raises(Enough):
        ripeline.optimise(
            ranks=8, microbatches=64, costs=(24, 23, 12, 1), memory=6, progress=callback
        )
    assert {progress.part for progress in seen} <= {"", "search"}
    best = [progress.best for progress in seen if progress.best is not None]
    assert best and best == sorted(best, reverse=True)
    last = seen[-1]
    assert last.best is not None and last.bound is not None and last.bound <= last.best


def test_progress_of_a_curve() -> None:
    seen: list[Progress] = []
    ripeline.optimise(
        ranks=8,
        microbatches=24,
        costs=(24, 23, 12, 1),
        memory=(4, 6),
        seconds=0.2,
        solver=False,
        progress=seen.append,
    )
    parts = [progress.part for progress in seen if progress.part]
    assert list(dict.fromkeys(parts)) == ["memory 4", "memory 5", "memory 6"]
    for part in parts:
        best = [told.best for told in seen if told.part == part and told.best is not None]
        assert best and best == sorted(best, reverse=True)


def test_searches_in_several_threads() -> None:
    expected = ripeline.optimise(ranks=4, microbatches=8, memory=4, solver=False).program
    found: list[Program] = []

    def search() -> None:
        best = ripeline.optimise(ranks=4, microbatches=8, memory=4, solver=False)
        found.append(best.program)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 3
