"""Random programs: Python's verdicts, runs, documents and pictures are those of the commands.

RIPELINE_RANDOM_PROGRAMS sets how many programs are compared (60), RIPELINE_RANDOM_FIRST the seed
of the first of them (1).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Output, command

from ripeline import Error, Program

WRITER = os.environ.get("RIPELINE_RANDOM_WRITER", "")
COUNT = int(os.environ.get("RIPELINE_RANDOM_PROGRAMS", "60"))
FIRST = int(os.environ.get("RIPELINE_RANDOM_FIRST", "1"))
CODES = {"proved": 0, "refuted": 1, "unknown": 3}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs, called SEED.ripe."""
    if not WRITER:
        pytest.skip("RIPELINE_RANDOM_WRITER names no program write_random_programs")
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([WRITER, folder, str(FIRST), str(COUNT)], check=True)
    return folder


def failed(output: Output, error: Error) -> bool:
    """Whether the command printed this error, possibly after notes, and failed for bad input."""
    lines = output.err.splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("note: "))
    return output.code == 2 and text.removeprefix("ripeline: ") == f"{error}\n"


def compare_verdicts(file: Path, seed: int) -> str:
    """Compares the verdict's text, document and picture; returns the outcome."""
    repairs = seed % 5 == 0
    flags: list[object] = [file, "--no-times"]
    if not repairs:
        flags.append("--no-repairs")
    verdict = Program(file).verify(times=False, repairs=repairs)
    drawn = file.with_suffix(".svg")
    picture = [] if verdict.run is None else ["--picture", drawn]
    text = command("verify", *flags, *picture)
    assert (text.code, text.out) == (CODES[verdict.outcome], verdict.text)
    assert command("verify", *flags, "--format", "json").out == verdict.json()
    if verdict.run is not None:
        assert drawn.read_text() == verdict.run.svg()
    return verdict.outcome


def compare_runs(file: Path, seed: int) -> bool:
    """Compares a run's text, document, pictures, table and trace; returns whether it ran."""
    program = Program(file)
    first, last = program.microbatches
    count = first + seed % (max(first, last or 4) - first + 1)
    times = {"latency": seed % 3 / 2, "jitter": ("", "uniform=0.3", "tails=5:10")[seed // 3 % 3]}
    flags: list[object] = [file, "-m", count, "--latency", times["latency"], "--seed", seed]
    if times["jitter"]:
        flags += ["--jitter", times["jitter"]]
    a = file.parent / "a"
    b = file.parent / "b"
    page = command("simulate", *flags, "--picture", f"{b}.html", "--format", "json")
    try:
        run = program.simulate(count, seed=seed, **times)  # type: ignore[arg-type]
    except Error as error:
        assert failed(page, error)
        return False
    text = command(
        *("simulate", *flags, "--picture", f"{b}.svg", "--trace", f"{b}.json", "--csv", f"{b}.csv")
    )
    assert (text.code, text.out) == (int(run.stuck), run.text)
    assert (page.code, page.out) == (int(run.stuck), run.json())
    for note in run.notes:
        assert f"note: {note}\n" in text.err
    for ending in ("svg", "html", "json", "csv"):
        run.save(f"{a}.{ending}")
        assert Path(f"{a}.{ending}").read_bytes() == Path(f"{b}.{ending}").read_bytes(), ending
    assert command("show", *flags, "--width", 100).out == run.drawing.text()
    return True


def compare_forwards(file: Path) -> bool:
    """Compares the forward pass; returns whether the program has one."""
    printed = command("format", "--forward-only", file)
    try:
        forwards = Program(file).forward_only()
    except Error as error:
        assert failed(printed, error)
        return False
    assert (printed.code, printed.out) == (0, forwards.text)
    return True


def test_random_programs(programs: Path) -> None:
    outcomes: dict[str, int] = {}
    ran = forwards = 0
    for seed in range(FIRST, FIRST + COUNT):
        file = programs / f"{seed}.ripe"
        try:
            outcome = compare_verdicts(file, seed)
            ran += compare_runs(file, seed)
            forwards += compare_forwards(file)
        except AssertionError as error:
            error.add_note(f"seed {seed}:\n{file.read_text()}")
            raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(f"{COUNT} programs: {outcomes}, {ran} ran, {forwards} have a forward pass")
    assert set(outcomes) >= {"proved", "refuted"} or COUNT < 50
    assert min(ran, forwards) > COUNT // 2 or COUNT < 50
