"""Verdicts, runs and reports as values, and as what terminals and notebooks show."""

from __future__ import annotations

import copy
import pickle
import shutil
import threading
from pathlib import Path

import pytest
from conftest import HANGS

import ripeline
from ripeline import Diagnostic, FixedSchedule, Program, Progress, Wait


def test_a_proved_verdict() -> None:
    verdict = Program("1f1b", ranks=4).verify()
    assert verdict and verdict.proved
    assert [o.name for o in verdict.obligations] == [
        "deadlock",
        "collectives",
        "messages",
        "memory",
        "once",
    ]
    assert all(o.outcome == "proved" and o.method for o in verdict.obligations)
    assert all(o.seconds is not None and o.seconds >= 0 for o in verdict.obligations)
    assert verdict.peaks == {"activation": [4, 3, 2, 1]}
    assert (verdict.run, verdict.repairs, verdict.warnings) == (None, (), ())
    assert "Every task that starts ends." in verdict.assumptions
    assert verdict._repr_mimebundle_() == {"text/plain": repr(verdict)}


def test_a_refuted_verdict() -> None:
    program = Program(HANGS)
    verdict = program.verify(times=False)
    assert (bool(verdict), verdict.outcome, verdict.program) == (False, "refuted", program)
    deadlock = verdict.obligations[0]
    assert (deadlock.outcome, deadlock.line, deadlock.seconds) == ("refuted", 9, None)
    assert deadlock.counterexample is not None
    assert (deadlock.counterexample.microbatches, deadlock.counterexample.fewest) == (2, True)
    assert {wait.task for wait in deadlock.counterexample.waits} == {"0B0", "1F1"}
    bundle = verdict._repr_mimebundle_()
    assert bundle["text/plain"] == verdict.text.rstrip("\n")
    assert bundle["image/svg+xml"].startswith("<svg")
    assert verdict.run is not None and "1F1" in verdict.run.html()


def test_records_are_values() -> None:
    wait = Wait("2F0", "room")
    assert repr(wait) == "Wait(task='2F0', reason='room', member=None)"
    assert wait == Wait(task="2F0", reason="room") != Wait("2F0", "room", member=1)
    assert hash(wait) == hash(Wait("2F0", "room"))
    assert FixedSchedule("2F0", "room") != Wait("2F0", "room") != ("2F0", "room", None)
    with pytest.raises(AttributeError, match="Wait is immutable"):
        setattr(wait, "task", "2B0")
    first, second = (Program(HANGS).verify(times=False).obligations[0] for _ in range(2))
    assert first == second and first.counterexample is not None
    assert repr(first.counterexample).startswith("Counterexample(microbatches=2, fewest=True, waits=(Wait(")
    for value in (wait, Diagnostic("id", "message", "hint"), Progress(1.5, "deadlock")):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


def test_repairs_are_programs_that_are_proved() -> None:
    # Two stages share the memory of a rank, and the first may take all of it.
    program = Program(
        """\
pipeline two {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s % ranks;
  op F forward  { cost 1;  needs F at prev;             acquires activation; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
"""
    )
    verdict = program.verify()
    assert verdict.outcome == "refuted"
    assert [repair.line for repair in verdict.repairs][:1] == [6]
    assert program.verify(repairs=False).repairs == ()
    for repair in verdict.repairs:
        assert repair.text and repair.program != program
        assert repr(repair).endswith(f", line={repair.line}, column={repair.column})")
        assert pickle.loads(pickle.dumps(repair)) == repair
        assert repair.program.verify().proved
        assert repair.program.params == program.params


def test_a_run() -> None:
    run = Program("1f1b", ranks=4).simulate(8)
    assert (run.wall, run.span, run.work, run.bubble) == (33, 33, 24, 9)
    assert run.bubble_rate == pytest.approx(9 / 33)
    assert (run.unit, run.microbatches, run.stuck, run.notes) == ("unit", 8, False, ())
    assert run.peaks == {"activation": [4, 3, 2, 1]}
    assert len(run.by_rank) == 4
    assert run.csv().count("\n") == 1 + 4 * 8 * 2
    bundle = run._repr_mimebundle_()
    assert bundle["text/plain"] == repr(run) == run.text.rstrip("\n")
    assert bundle["image/svg+xml"] == run.drawing.svg()


def test_causes_of_idle_time() -> None:
    run = Program("1f1b", ranks=4).simulate(8, latency=1)
    assert len(run.causes) == 4
    for causes, rank in zip(run.causes, run.by_rank, strict=True):
        assert sum(causes.values()) + rank["busy"] == rank["last"] - rank["first"]


def test_a_run_as_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    table = Program("1f1b", ranks=4).simulate(8).to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns)[:3] == ["task", "op", "stage"]
    assert len(table) == 4 * 8 * 2
    assert (table.end - table.start).sum() == 4 * 8 * 3
    assert table.groupby("rank").end.max().max() == 33


def test_notes_on_members_and_replicas() -> None:
    text = HANGS.replace("order mine", "tensor_parallel 2 { agree by vote; }\n  order mine", 1)
    assert Program(text).simulate(2).notes == (
        "the members of a tensor-parallel group run as one",
    )


def test_a_run_that_deadlocks_is_a_run() -> None:
    run = Program(HANGS).simulate(4)
    assert run.stuck and not run
    assert Program("bf", ranks=2).simulate(4)
    assert "deadlock" in run.text


def test_seeds_draw() -> None:
    program = Program("bf", ranks=4)
    walls = {program.simulate(8, jitter="uniform=0.5", seed=seed).wall for seed in range(1, 5)}
    assert len(walls) > 1
    assert program.simulate(8, jitter="uniform=0.5").text == program.simulate(
        8, jitter="uniform=0.5", seed=1
    ).text


def test_a_check(tmp_path: Path) -> None:
    file = tmp_path / "schedule.csv"
    file.write_text("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n")
    report = ripeline.check_csv(file, placement="chain")
    assert (bool(report), report.outcome) == (False, "refuted")
    assert report.findings[0].rule == "deadlock"
    assert repr(report) == report.text.rstrip("\n")
    file.write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
    assert ripeline.check_csv(file, placement="chain", memory=2, stage_memory=2, microbatches=2)


def test_a_comparison() -> None:
    fast, slow = Program("1f1b", ranks=4), Program("1f1b", ranks=4, b=4)
    table = ripeline.compare({"fast": fast, "slow": slow}, 8)
    assert [run["title"] for run in table.runs] == ["fast", "slow"]
    assert table.runs[0]["wall"] == fast.simulate(8).wall < table.runs[1]["wall"]
    assert table._repr_mimebundle_()["image/svg+xml"] == table.svg()
    assert "fast" in table.html()


def test_a_pdf(tmp_path: Path) -> None:
    run = Program("1f1b", ranks=2).simulate(2)
    if shutil.which("rsvg-convert") is None:
        with pytest.raises(ripeline.Error, match="rsvg-convert"):
            run.save(tmp_path / "run.pdf")
    else:
        run.save(tmp_path / "run.pdf")
        assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")


def test_results_never_change() -> None:
    program = Program("1f1b", ranks=2)
    for result in (program.verify(), program.simulate(2), program.simulate(2).drawing):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(result, "program", program)


def test_values_are_copies() -> None:
    """What a caller does to a list or dict changes no result."""
    verdict = Program("bf", ranks=2).verify()
    run = Program("bf", ranks=2).simulate(4)
    for peaks in (lambda: verdict.peaks, lambda: run.peaks):
        before = peaks()
        peaks()["activation"][0] = 99
        assert peaks() == before
    run.by_rank[0]["idle"]["input"] = 99
    assert run.causes == Program("bf", ranks=2).simulate(4).causes
    comparison = ripeline.compare([Program("bf", ranks=2)], 4)
    comparison.runs[0]["wall"] = 0
    assert comparison.runs[0]["wall"] == run.wall
    counterexample = Program(HANGS).verify().obligations[0].counterexample
    assert counterexample is not None
    with pytest.raises(TypeError):
        counterexample.events[0]["task"] = "9F9"  # type: ignore[index]


def test_numbers_are_those_that_were_meant() -> None:
    """A float has digits that its user did not mean, and an exponent that no command reads."""
    program = Program("1f1b", ranks=2)
    for number, text in ((0.1 + 0.2, "0.3"), (1e-5, "0.00001"), (2.5e3, "2500"), (1 / 3, "0.333333")):
        run = program.simulate(4, rank_costs={"F": number, "B": 1}, latency=number)
        assert run.json() == program.simulate(4, rank_costs=f"F={text},B=1", latency=text).json()
    best = ripeline.optimise(ranks=2, microbatches=2, costs=(0.1 + 0.2, 1, 1, 0), solver=False)
    assert best.wall == ripeline.optimise(
        ranks=2, microbatches=2, costs="0.3,1,1,0", solver=False
    ).wall
    with pytest.raises(ripeline.Error, match="up to 6 decimals"):
        program.simulate(4, rank_costs={"F": 1.5e-6, "B": 1})


def test_other_threads_run_meanwhile() -> None:
    program = Program("bf", ranks=64)
    done = threading.Event()
    turns = 0

    def judge() -> None:
        program.verify()
        done.set()

    thread = threading.Thread(target=judge)
    thread.start()
    while not done.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 10


def test_one_program_in_several_threads() -> None:
    program = Program("zb_v", ranks=4)
    expected = (program.verify(times=False).text, program.simulate(8).json())
    found: list[tuple[str, str]] = []

    def ask() -> None:
        found.append((program.verify(times=False).text, program.simulate(8).json()))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
