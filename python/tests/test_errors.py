"""Errors: the command line's messages, with their diagnostics."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HANGS, SOURCE, command

import ripeline
from ripeline import Error, Program


def specimens() -> list[Path]:
    folder = SOURCE / "tests" / "specimens"
    return sorted([*(folder / "parse").glob("*.ripe"), *(folder / "elaborate").glob("*.ripe")])


@pytest.mark.parametrize("file", specimens(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_mistakes(file: Path) -> None:
    with pytest.raises(Error) as raised:
        Program(str(file))
    assert f"{raised.value}\n" == command("verify", file).err.removeprefix("ripeline: ")
    for diagnostic in raised.value.diagnostics:
        assert diagnostic.id and diagnostic.message
        assert diagnostic.line or diagnostic.id == "input"


def test_a_diagnostic_has_its_place() -> None:
    with pytest.raises(Error) as raised:
        Program(HANGS.replace("needs F at prev", "needs G at prev"))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.id, diagnostic.line) == ("need-unknown-op", 6)
    assert "^" in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.diagnostics) == (str(raised.value), raised.value.diagnostics)


@pytest.mark.parametrize(
    "source, params, flags",
    [
        ("nothing", {}, ()),
        ("bff", {}, ()),
        ("bf", {"ranks": 0}, ("-D", "ranks=0")),
        ("bf", {"depth": 3}, ("-D", "depth=3")),
        ("bf", {"ranks": 2**70}, ("-D", f"ranks={2**70}")),
    ],
)
def test_wrong_sources_and_params(
    source: str, params: dict[str, int], flags: tuple[str, ...]
) -> None:
    with pytest.raises(Error) as raised:
        Program(source, **params)  # type: ignore[arg-type]
    err = command("verify", source, *flags).err
    assert err.removeprefix("ripeline: ") == f"{raised.value}\n"


def test_wrong_counts() -> None:
    program = Program("bf", ranks=4)
    with pytest.raises(TypeError, match="ranks='any'"):
        program.verify(ranks=8)  # type: ignore[arg-type]
    for wrong in (0, -1, (3, 2)):
        with pytest.raises(Error):
            program.verify(wrong)
    with pytest.raises(Error, match="microbatches"):
        program.simulate()
    with pytest.raises(TypeError):
        program.simulate("8")  # type: ignore[arg-type]
    with pytest.raises(Error, match="set twice"):
        Program("bf", ranks=4, microbatches=8).simulate(16)


@pytest.mark.parametrize(
    "arguments, flags",
    [
        ({"latency": "fast"}, ("--latency", "fast")),
        ({"latency": "1ms"}, ("--latency", "1ms")),
        ({"rank_costs": {"F": -1}}, ("--rank-costs", "F=-1")),
        ({"rank_costs": {"Q": 1}}, ("--rank-costs", "Q=1")),
        ({"bandwidth": "fast", "bytes": 1}, ("--bandwidth", "fast", "--bytes", 1)),
        ({"bandwidth": 0, "bytes": 1}, ("--bandwidth", 0, "--bytes", 1)),
        ({"bandwidth": "25GB/s"}, ("--bandwidth", "25GB/s")),
        ({"bytes": "4.7ms"}, ("--bytes", "4.7ms")),
        ({"jitter": "often"}, ("--jitter", "often")),
        ({"unit": "hours"}, ("--unit", "hours")),
        ({"profile": "/nowhere.json"}, ("--profile", "/nowhere.json")),
    ],
)
def test_wrong_times(arguments: dict[str, object], flags: tuple[str, ...]) -> None:
    with pytest.raises(Error) as raised:
        Program("1f1b", ranks=2).simulate(4, **arguments)  # type: ignore[arg-type]
    output = command("simulate", "1f1b", "-D", "ranks=2", "-m", 4, *flags)
    assert (output.code, output.err) == (2, f"ripeline: {raised.value}\n")


def test_no_file_is_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = Program("1f1b", ranks=2)
    for read in (
        lambda: ripeline.check_csv("-"),
        lambda: program.simulate(4, profile="-"),
        lambda: program.optimise(4, profile="-"),
        lambda: ripeline.compare([program], 4, profile="-"),
        lambda: ripeline.optimise(profile="-"),
    ):
        with pytest.raises(Error, match=r"^\./-: "):
            read()
    Path("-").write_text("0F0,0B0\n")
    assert ripeline.check_csv("-").proved


def test_wrong_choices(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text("0F0,0B0\n")
    program = Program("1f1b", ranks=2)
    choices: list[tuple[str, str, Callable[[str], object]]] = [
        ("--placement", "chain, loop, v", lambda wrong: Program("bf", placement=wrong)),
        ("--placement", "chain, loop, v", lambda wrong: ripeline.check_csv(file, placement=wrong)),
        ("--placement", "chain, loop, v, any", lambda wrong: ripeline.optimise(placement=wrong)),
        ("--objective", "wall, span", lambda wrong: program.optimise(4, objective=wrong)),
        ("--form", "compute_only, compute_comms", lambda wrong: program.export_csv(2, form=wrong)),
        (
            "--form",
            "compute_only, compute_comms",
            lambda wrong: ripeline.check_csv(file, form=wrong),
        ),
        ("--layout", "group, pair, edge", lambda wrong: ripeline.check_csv(file, layout=wrong)),
        (
            "--kernels",
            "per-stream, launch-order, serial",
            lambda wrong: ripeline.check_csv(file, kernels=wrong),
        ),
    ]
    for option, names, choose in choices:
        with pytest.raises(Error) as raised:
            choose("w")
        assert str(raised.value) == f"{option}: 'w' is none of {names}"
        (diagnostic,) = raised.value.diagnostics
        assert diagnostic.option == option


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"must end in"):
        Program("1f1b", ranks=2).simulate(2).save(tmp_path / "run.png")
    with pytest.raises(Error, match="nowhere"):
        Program("1f1b", ranks=2).simulate(2).save("/nowhere/run.svg")
    with pytest.raises(Error):
        ripeline.check_csv("/nowhere.csv")


def test_wrong_pictures() -> None:
    drawing = Program("1f1b", ranks=2).simulate(2).drawing
    flags = ("show", "1f1b", "-D", "ranks=2", "-m", 2)
    for arguments, more in (
        ({"width": 19}, ("--width", 19)),
        ({"begin": -1}, ("--begin=-1",)),
        ({"end": 0}, ("--end", 0)),
        ({"begin": 3, "end": 3}, ("--begin", 3, "--end", 3)),
        ({"begin": 99}, ("--begin", 99)),
    ):
        with pytest.raises(Error) as raised:
            drawing.text(**arguments)
        assert command(*flags, *more).err.splitlines()[0] == f"ripeline: {raised.value}"
    with pytest.raises(Error, match="--picture-width: expected an integer from 320 to 20000"):
        drawing.svg(5)
    with pytest.raises(Error, match="--picture-width"):
        ripeline.compare([Program("1f1b", ranks=2)], 2).svg(5)
    curve = ripeline.optimise(ranks=2, microbatches=2, memory=(1, 1), solver=False)
    for width in (5, 20001):
        with pytest.raises(Error, match="--picture-width: expected an integer from 320 to 20000"):
            curve.svg(width)
    assert 'width="320"' in curve.svg(320)


def test_wrong_checks(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text("0F0,0B0\n")
    for arguments, flags in (
        ({"ranks": 0}, ("--ranks", 0)),
        ({"stages": 0}, ("--stages", 0)),
        ({"stage_memory": 0}, ("--stage-memory", 0)),
        ({"memory": 0}, ("--memory", 0)),
        ({"microbatches": 0}, ("-m", 0)),
    ):
        with pytest.raises(Error) as raised:
            ripeline.check_csv(file, **arguments)  # type: ignore[arg-type]
        err = command("check", file, *flags).err
        assert err.splitlines()[0] == f"ripeline: {raised.value}"
    with pytest.raises(Error, match="nothing to repair"):
        ripeline.check_csv(file).fix()


def test_programs_without_a_forward_pass() -> None:
    for old, new, message in (
        ("op F forward", "op F", "no op has the kind `forward`"),
        ("needs F at prev;", "needs F at prev, B at here of m - 1;", "F needs B"),
        ("needs F at prev;", "needs F at prev via rendezvous;", "F needs F via rendezvous"),
    ):
        with pytest.raises(Error, match=message) as raised:
            Program(HANGS.replace(old, new)).forward_only()
        (diagnostic,) = raised.value.diagnostics
        assert diagnostic.id == "forward-only"
        assert "^" in str(raised.value)


def test_kinds_that_no_op_has() -> None:
    with pytest.raises(Error, match="no op has the kind `backward input`") as raised:
        Program("bf", ranks=2).sequential("forward", "backward input")
    assert raised.value.diagnostics[0].id == "sequential-kind"


def test_wrong_tasks_and_comparisons() -> None:
    program = Program("1f1b", ranks=2)
    with pytest.raises(Error, match="9F9"):
        program.simulate(2).explain("9F9")
    with pytest.raises(TypeError, match="one program"):
        ripeline.compare([], 8)
    with pytest.raises(Error, match="--seeds"):
        ripeline.compare([program], 8, seeds=0)
    with pytest.raises(Error, match="--memory"):
        ripeline.compare([program], 8, memory="much")


def test_integers_out_of_bounds(tmp_path: Path) -> None:
    program = Program("bf", ranks=2)
    file = tmp_path / "schedule.csv"
    file.write_text("0F0,0B0\n1F0,1B0\n")
    for call, flag in (
        (lambda: program.simulate(4, seed=-1), "--seed: expected an integer from 0 to"),
        (lambda: program.verify(steps=-1), "--steps: expected an integer from 0 to"),
        (lambda: ripeline.check_csv(file, ranks=2**40), "--ranks: expected an integer"),
        (lambda: ripeline.compare([program], seeds=2**40), "--seeds: expected an integer from 1"),
    ):
        with pytest.raises(Error, match=flag):
            call()
    with pytest.raises(TypeError, match=r"compare\(\[first, second\]"):
        ripeline.compare(program, 4)  # type: ignore[arg-type]
    assert ripeline.compare({1: program}, 4).runs[0]["title"] == "1"  # type: ignore[arg-type]


def test_an_error_is_a_value_error() -> None:
    assert issubclass(Error, ValueError)
