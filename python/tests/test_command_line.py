"""What Python says is what the command line says, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SOURCE, command, library

import ripeline
from ripeline import Error, Program

RANKS = (2, 4)


def code_of(outcome: str) -> int:
    return {"proved": 0, "refuted": 1, "unknown": 3}[outcome]


@pytest.mark.parametrize("name", library())
@pytest.mark.parametrize("ranks", RANKS)
def test_verdicts_of_the_library(name: str, ranks: int) -> None:
    verdict = Program(name, ranks=ranks).verify(times=False)
    flags = (name, "-D", f"ranks={ranks}", "--no-times")
    text = command("verify", *flags)
    assert (text.code, text.out) == (code_of(verdict.outcome), verdict.text)
    assert command("verify", *flags, "--format", "json").out == verdict.json()


@pytest.mark.parametrize("name", library())
@pytest.mark.parametrize("ranks", RANKS)
def test_runs_of_the_library(name: str, ranks: int, tmp_path: Path) -> None:
    run = Program(name, ranks=ranks).simulate(8, latency=0.25, jitter="tails=5:10", seed=7)
    flags = (
        *(name, "-D", f"ranks={ranks}", "-m", 8),
        *("--latency", "0.25", "--jitter", "tails=5:10", "--seed", 7),
    )
    pictures = {ending: tmp_path / f"a.{ending}" for ending in ("svg", "html", "json", "csv")}
    for file in pictures.values():
        run.save(file)
    written = command(
        "simulate", *flags, "--picture", "b.svg", "--trace", "b.json", "--csv", "b.csv",
        folder=tmp_path,
    )  # fmt: skip
    assert written.out == run.text
    assert command("simulate", *flags, "--format", "json").out == run.json()
    command("simulate", *flags, "--picture", "b.html", folder=tmp_path)
    for ending, file in pictures.items():
        assert file.read_bytes() == (tmp_path / f"b.{ending}").read_bytes(), ending


@pytest.mark.parametrize("microbatches, flag", [(4, "4"), ((2, 6), "2..6")])
def test_counts(microbatches: int | tuple[int, int], flag: str) -> None:
    verdict = Program("bf", ranks=3).verify(microbatches, times=False)
    flags = ("bf", "-D", "ranks=3", "-m", flag, "--no-times")
    assert command("verify", *flags).out == verdict.text
    assert command("verify", *flags, "--format", "json").out == verdict.json()


def test_a_refuted_program(hanging: Path, tmp_path: Path) -> None:
    verdict = Program(str(hanging)).verify(times=False)
    flags = (hanging, "--no-times")
    text = command("verify", *flags, "--picture", tmp_path / "b.svg")
    assert (text.code, text.out) == (1, verdict.text)
    assert command("verify", *flags, "--format", "json").out == verdict.json()
    assert verdict.run is not None
    verdict.run.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    (tmp_path / "verdict.json").write_text(verdict.json())
    shown = command("show", hanging, "--from", tmp_path / "verdict.json", "--width", 100)
    assert shown.out == verdict.run.text()


def test_rank_costs_with_units() -> None:
    run = Program("zb_v", ranks=4).simulate(
        8, rank_costs={"F": "1ms", "I": "1.5ms", "W": "0.5ms"}, latency="20us"
    )
    units = ("--rank-costs", "F=1ms,I=1.5ms,W=0.5ms", "--latency", "20us")
    assert command("simulate", "zb_v", "-D", "ranks=4", "-m", 8, *units).out == run.text
    numbers = Program("1f1b", ranks=4).simulate(8, rank_costs={"F": 1, "B": 2.5})
    flags = ("--rank-costs", "F=1,B=2.5")
    assert command("simulate", "1f1b", "-D", "ranks=4", "-m", 8, *flags).out == numbers.text


def schedules() -> list[Path]:
    return sorted((SOURCE / "tests" / "specimens" / "check").glob("*.csv"))


@pytest.mark.parametrize("file", schedules(), ids=lambda file: file.stem)
def test_checks(file: Path) -> None:
    text = command("check", file)
    try:
        report = ripeline.check_csv(file)
    except Error as error:
        assert (text.code, text.err) == (2, f"ripeline: {error}\n")
        return
    assert (text.code, text.out) == (code_of(report.outcome), report.text)
    assert command("check", file, "--format", "json").out == report.json()


@pytest.mark.parametrize("name", ["1f1b", "bf", "zb_v", "interleaved_1f1b", "gpipe"])
@pytest.mark.parametrize("form", ["compute_only", "compute_comms"])
def test_exports(name: str, form: str) -> None:
    csv = Program(name, ranks=4).export_csv(8, form=form)
    flags = (name, "-D", "ranks=4", "-m", 8, "--form", form, "-o", "-")
    assert command("export", *flags).out == csv


@pytest.mark.parametrize("task", ["1B0", "0F3", ""])
def test_reasons(task: str) -> None:
    run = Program("bf", ranks=4).simulate(8, latency=0.5, jitter="uniform=0.3", seed=2)
    flags = ("-D", "ranks=4", "-m", 8, "--latency", "0.5", "--jitter", "uniform=0.3", "--seed", 2)
    assert command("why", "bf", *([task] if task else []), *flags).out == run.explain(task)


def test_comparisons(tmp_path: Path) -> None:
    names = ("1f1b", "bf", "zb_v")
    table = ripeline.compare(
        [Program(name, ranks=4) for name in names],
        16,
        seeds=3,
        memory=4,
        rank_costs={"F": 1, "B": 2},
        jitter="tails=2:20",
    )
    flags = (
        *(*names, "-D", "ranks=4", "-m", 16, "--seeds", 3, "--memory", 4),
        *("--rank-costs", "F=1,B=2", "--jitter", "tails=2:20"),
    )
    assert command("compare", *flags, "--picture", tmp_path / "b.svg").out == table.text
    assert command("compare", *flags, "--format", "json").out == table.json()
    table.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
