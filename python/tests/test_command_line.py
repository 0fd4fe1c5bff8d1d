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


def test_links_have_a_bandwidth() -> None:
    times = {"unit": "ms", "latency": "20us", "bandwidth": "25GB/s", "bytes": "4.7MB"}
    flags = [word for name, value in times.items() for word in (f"--{name}", value)]
    program = Program("zb_v", ranks=4)
    run = program.simulate(8, **times)  # type: ignore[arg-type]
    assert command("simulate", "zb_v", "-D", "ranks=4", "-m", 8, *flags).out == run.text
    assert run.wall > program.simulate(8, unit="ms", latency="20us").wall
    programs = [program, Program("1f1b", ranks=4)]
    table = ripeline.compare(programs, 8, **times)  # type: ignore[arg-type]
    assert command("compare", "zb_v", "1f1b", "-D", "ranks=4", "-m", 8, *flags).out == table.text


@pytest.mark.parametrize("name", library())
def test_every_number_of_ranks(name: str) -> None:
    verdict = Program(name, ranks=3).verify(ranks="any", times=False)
    flags = (name, "-D", "ranks=any", "--no-times")
    text = command("verify", *flags)
    assert (text.code, text.out) == (code_of(verdict.outcome), verdict.text)
    assert command("verify", *flags, "--format", "json").out == verdict.json()


def test_every_number_of_ranks_of_other_programs(hanging: Path, tmp_path: Path) -> None:
    dispatch = "ready by bf"
    for program, flags in (
        (Program(hanging), (hanging,)),
        (Program("bf", f=3, dispatch=dispatch), ("bf", "-D", "f=3", "--dispatch", dispatch)),
    ):
        verdict = program.verify((2, 9), ranks="any", times=False)
        out = command("verify", *flags, "-m", "2..9", "-D", "ranks=any", "--no-times").out
        assert out == verdict.text
    table = tmp_path / "schedule.csv"
    table.write_text("0F0,0B0\n")
    with pytest.raises(Error) as raised:
        Program(table).verify(ranks="any")
    err = command("verify", table, "-D", "ranks=any").err
    assert err == f"ripeline: {raised.value}\n"


@pytest.mark.parametrize(
    "options",
    [
        {"pipeline_model_parallel_size": 4, "num_layers": 8},
        {
            "pipeline_model_parallel_size": 4,
            "num_layers": 30,
            "num_virtual_stages_per_pipeline_rank": 2,
            "microbatch_group_size_per_virtual_pipeline_stage": 5,
            "decoder_first_pipeline_num_layers": 6,
            "decoder_last_pipeline_num_layers": 8,
        },
        {"pipeline_model_parallel_size": 4, "num_layers": 9},
        {"pipeline_model_parallel_size": 0, "num_layers": 9},
    ],
)
def test_options_of_megatron(options: dict[str, int]) -> None:
    flags = [
        word
        for name, value in options.items()
        for word in ("--" + name.replace("_", "-"), str(value))
    ]
    printed = command("library", "megatron", *flags)
    try:
        program = Program.megatron(**options)
    except Error as error:
        assert (printed.code, printed.err.splitlines()[0]) == (2, f"ripeline: {error}")
        return
    assert (printed.code, printed.out) == (0, program.text)
    assert program.ranks == options["pipeline_model_parallel_size"]
    assert program.verify().proved


@pytest.mark.parametrize("name", library())
def test_forward_passes_of_the_library(name: str) -> None:
    program = Program(name, ranks=4)
    forwards = program.forward_only()
    assert command("format", "--forward-only", name).out == forwards.text
    assert forwards.params == program.params
    assert forwards.verify().proved
    whole, run = program.simulate(8).csv(), forwards.simulate(8)
    tasks = [line.split(",")[0] for line in whole.splitlines()[1:] if line.split(",")[1] == "F"]
    assert sorted(line.split(",")[0] for line in run.csv().splitlines()[1:]) == sorted(tasks)
    assert run.peaks == {}


@pytest.mark.parametrize("name", library())
def test_sequential_programs_of_the_library(name: str) -> None:
    program = Program(name, ranks=4)
    sequential = program.sequential("forward")
    assert command("format", "--sequential", "forward", name).out == sequential.text
    assert sequential.params == program.params
    assert sequential.verify().outcome == program.verify().outcome


def test_parts_of_runs(tmp_path: Path) -> None:
    run = Program("1f1b", ranks=4).simulate(8)
    flags = ("show", "1f1b", "-D", "ranks=4", "-m", 8, "--begin", 4, "--end", 20)
    assert command(*flags, "--width", 60).out == run.drawing.text(60, begin=4, end=20)
    for ending, picture in (
        ("svg", run.drawing.svg(800, begin=4, end=20)),
        ("html", run.drawing.html(begin=4, end=20)),
    ):
        width = ("--picture-width", 800) if ending == "svg" else ()
        file = tmp_path / f"part.{ending}"
        command("simulate", *flags[1:], "--picture", file, *width)
        assert file.read_text() == picture


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


@pytest.mark.parametrize("file", schedules(), ids=lambda file: file.stem)
def test_repairs_of_schedules(file: Path, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.csv"
    written = command("check", file, "--fix", fixed)
    try:
        repair = ripeline.check_csv(file).fix()
    except Error as error:
        assert not fixed.exists()
        for part in str(error).split(": ", 1):
            assert part in written.err
        return
    assert (written.code, fixed.read_text()) == (0, repair.csv)
    assert written.err.endswith(repair.changes)
    assert ripeline.check_csv(fixed).proved


def test_layouts_of_checks(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text(Program("1f1b", ranks=4).export_csv(8, form="compute_comms"))
    flags: tuple[object, ...] = ()
    for layout in ("group", "pair", "edge"):
        for kernels in ("per-stream", "launch-order", "serial"):
            report = ripeline.check_csv(
                file, layout=layout, kernels=kernels, reduce=False, layouts=True
            )
            flags = ("--layout", layout, "--kernels", kernels, "--no-reduce", "--layouts")
            assert command("check", file, *flags).out == report.text
            assert len(report.layouts) == 9
    assert command("check", file, *flags, "--format", "json").out == report.json()
    assert ripeline.check_csv(file).layouts == []


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


def test_traces(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    run = Program("bf", ranks=4).simulate(8, jitter="uniform=0.3")
    run.save(file)
    for step, flags in ((None, ()), (0, ("--step", 0)), ((0, 0), ("--step", "0..0"))):
        trace = ripeline.read_trace(file, step)
        assert command("show", file, *flags, "--width", 100).out == trace.drawing.text()
        for task in ("", "2B3"):
            why = command("why", file, *([task] if task else []), *flags).out
            assert why == trace.explain(task)
        trace.save(tmp_path / "a.svg")
        command("show", file, *flags, "--picture", tmp_path / "b.svg")
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
        assert trace._repr_mimebundle_()["image/svg+xml"] == trace.drawing.svg()
    for path, wrong in ((file, 7), (tmp_path / "none.json", None), (file, -1)):
        with pytest.raises(Error) as raised:
            ripeline.read_trace(path, wrong)
        step_flags = () if wrong is None else (f"--step={wrong}",)
        assert command("show", path, *step_flags).err.splitlines()[0] == f"ripeline: {raised.value}"


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


def test_a_comparison_takes_the_count_of_a_csv(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text(Program("1f1b", ranks=2).export_csv(6))
    table = ripeline.compare([Program("bf", ranks=2), Program(file)])
    compared = command("compare", "bf", file, "-D", "ranks=2")
    assert (compared.out, [run["microbatches"] for run in table.runs]) == (table.text, [6, 6])
    assert f"note: {table.notes[0]}\n" in compared.err
