"""Long calls: Ctrl-C and progress= stop them soon, and leave nothing behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HANGS

import ripeline
from ripeline import Program, Progress

# A minute with RIPELINE_SECONDS=60.
SECONDS = float(os.environ.get("RIPELINE_SECONDS", "2"))
# The seconds of CPU within which a call ends after it is told to. On a quiet machine it ends within
# 0.1 s on the clock; on others, a thread may have to wait for a core. A step of Z3 on hundreds of
# ranks cannot be interrupted, and takes up to 0.5 s.
SOON = 0.2
SOON_IN_SOLVER = 0.6

# Calls that take seconds: a solver's, a search's, a simulator's, many runs, and a search for orders.
LONG: dict[str, str] = {
    "solver": "Program('bf', ranks=512).verify()",
    "simulate": "Program('1f1b', ranks=512).simulate(2048)",
    "compare": "ripeline.compare([Program('bf', ranks=16)], 64, seeds=100_000, jitter='tails=2:20')",
    "optimise": "ripeline.optimise(ranks=8, microbatches=64, costs=(24, 23, 12, 1), memory=6)",
    "fix": "report.fix()",
}

# A process that hangs is killed by the signal of its alarm, so that a test that reads from it ends.
WATCHED = "import signal; signal.alarm(60)\n"

# A schedule in whose rows the cells stand in a random order.
DISORDERED = """
import pathlib, random, tempfile
cells = lambda rank: [f"{rank}{op}{m}" for op in "FB" for m in range(100)]
rows = [random.Random(rank).sample(cells(rank), 200) for rank in range(8)]
file = pathlib.Path(tempfile.mkdtemp()) / "disordered.csv"
file.write_text("".join(",".join(row) + "\\n" for row in rows))
report = ripeline.check_csv(file, placement="chain")
"""


def rest_of(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    """The rest of what a process prints on stdout and stderr, and its exit status.

    `communicate()` would lose the lines that a `readline()` has fetched ahead.
    """
    assert process.stdout is not None and process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    return out, err, process.wait(60)


def threads_in_process(most: int | None = None) -> int:
    """How many there are, of all libraries; with `most`, as soon as there are no more than that.

    A thread of Python may end a moment after it is joined.
    """
    for _ in range(100):
        threads = len(list(Path("/proc/self/task").iterdir()))
        if most is None or threads <= most:
            break
        time.sleep(0.05)
    return threads


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Enough(Exception):
    """Raised by a progress callback."""


def ends_after(seconds: float) -> Callable[[Progress], None]:
    def callback(progress: Progress) -> None:
        if progress.seconds >= seconds:
            raise Enough

    return callback


@pytest.mark.parametrize("call", LONG.values(), ids=LONG.keys())
def test_ctrl_c(call: str) -> None:
    """The call is interrupted at several moments, and the process goes on."""
    script = "import ripeline\n" + (DISORDERED if "report" in call else "") + textwrap.dedent(
        f"""
        import os, signal, time
        from ripeline import Program
        def handler(*_):
            global told
            told = time.process_time()
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, handler)
        for turn in range(3):
            print("begins", flush=True)
            try:
                {call}
            except KeyboardInterrupt:
                took = time.process_time() - told
                print("interrupted", took, len(os.listdir("/proc/self/task")), flush=True)
            else:
                print("ended", flush=True)
        print(ripeline.Program("1f1b", ranks=4).verify().outcome, flush=True)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    draw = random.Random(call)
    for _ in range(3):
        assert process.stdout.readline() == "begins\n"
        time.sleep(draw.uniform(0.05, 0.6))
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline().split()
        assert line[:1] == ["interrupted"], line
        assert float(line[1]) < (SOON_IN_SOLVER if "ranks=512).verify" in call else SOON)
        assert line[2] == "1", "no thread is left"
    assert rest_of(process) == ("proved\n", "", 0)


def test_a_callback_gets_progress_and_may_end_the_call() -> None:
    program = Program("bf", ranks=512)
    seen: list[Progress] = []
    told = 0.0

    def callback(progress: Progress) -> None:
        nonlocal told
        seen.append(progress)
        if len(seen) > 3 and progress.part:
            told = time.process_time()
            raise Enough

    with pytest.raises(Enough):
        program.verify(progress=callback)
    assert time.process_time() - told < SOON_IN_SOLVER
    assert [p.seconds for p in seen] == sorted(p.seconds for p in seen)
    assert {p.part for p in seen} <= {"", "once", "collectives", "deadlock", "memory", "messages"}
    assert (seen[-1].best, seen[-1].bound) == (None, None)
    assert program.simulate(4).wall > 0


def test_comparisons_say_which_run_they_are_at() -> None:
    seen: list[str] = []

    def callback(progress: Progress) -> None:
        seen.append(progress.part)
        if len(seen) > 3 and ", seed " in progress.part:
            raise Enough

    with pytest.raises(Enough):
        ripeline.compare(
            [Program("bf", ranks=16)], 64, seeds=100_000, jitter="tails=2:20", progress=callback
        )
    assert seen[-1].startswith("bf, seed ") and seen[-1].endswith(" of 100000")


def test_progress_is_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert Program("bf", ranks=64).verify(progress=True)
    err = capfd.readouterr().err
    assert err.startswith("\rverify: 0 s ") and err.endswith("\n")
    with pytest.raises(ripeline.Error) as raised:
        Program("bf", ranks=2).verify((8, 4), progress=True)
    assert raised.value.__context__ is None
    assert Program("bf", ranks=2).verify(4, progress=False)
    assert capfd.readouterr().err == ""


def test_results_are_those_of_calls_that_are_watched() -> None:
    for text in (HANGS, Program("zb_v", ranks=4).text):
        program = Program(text)
        watched = program.verify(times=False, progress=lambda _: None)
        assert watched.json() == program.verify(times=False).json()


def test_threads_that_are_interrupted_at_random() -> None:
    """Eight threads verify and simulate; callbacks end some of the calls."""
    end = time.monotonic() + SECONDS
    small, large = Program("zb_v", ranks=4), Program("bf", ranks=128)
    expected = (small.verify(times=False).json(), small.simulate(8).json())
    before = threads_in_process()
    wrong: list[str] = []
    ended = [0] * 8

    def use(number: int) -> None:
        draw = random.Random(number)
        while time.monotonic() < end or ended[number] < 2:
            try:
                what = draw.randrange(4)
                if what == 0:
                    large.verify(progress=ends_after(draw.uniform(0, 0.2)))
                elif what == 1:
                    ripeline.compare(
                        [small], 16, seeds=100_000, progress=ends_after(draw.uniform(0, 0.2))
                    )
                elif what == 2:
                    if small.verify(times=False).json() != expected[0]:
                        wrong.append("verdict")
                elif small.simulate(8).json() != expected[1]:
                    wrong.append("run")
            except Enough:
                ended[number] += 1
            except BaseException as error:
                wrong.append(repr(error))
                return

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert threads_in_process(before) <= before


def test_ctrl_c_in_the_main_thread_leaves_other_threads_alone() -> None:
    script = textwrap.dedent(
        """
        import threading, time
        from ripeline import Program
        outcomes = []
        other = threading.Thread(target=lambda: outcomes.append(Program("bf", ranks=64).verify().outcome))
        other.start()
        print("begins", flush=True)
        try:
            Program("bf", ranks=512).verify()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        other.join()
        print(*outcomes)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert rest_of(process) == ("interrupted\nproved\n", "", 0)


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)"])
def test_daemon_threads_do_not_outlive_the_interpreter(ending: str) -> None:
    script = textwrap.dedent(
        """
        import threading, time
        from ripeline import Program
        large, small = Program("bf", ranks=512), Program("1f1b", ranks=2)
        def forever(program):
            while True:
                program.verify(progress=lambda _: None)
        for program in (large, small, large, small):
            threading.Thread(target=forever, args=(program,), daemon=True).start()
        time.sleep(0.2)
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", script + ending], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3 if ending else 0, "", "")


ENDINGS: dict[str, str] = {
    "a picture in a daemon thread": """
        drawing = Program("1f1b", ranks=16).simulate(64).drawing
        def forever():
            while True:
                drawing.html()
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    """,
    "a call that a callback makes in a daemon thread": """
        large, small = Program("bf", ranks=256), Program("1f1b", ranks=2)
        def forever():
            while True:
                large.verify(progress=lambda _: small.verify())
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    """,
    "a call of the main thread while the interpreter ends": """
        class Last:
            def __del__(self):
                Program("bf", ranks=2).verify()
        last = Last()
    """,
    "a fork beside a call": """
        large = Program("bf", ranks=256)
        threading.Thread(target=large.verify, daemon=True).start()
        time.sleep(0.1)
        child = os.fork()
        if child != 0:
            os.waitpid(child, 0)
    """,
}


@pytest.mark.parametrize("what", ENDINGS.values(), ids=ENDINGS.keys())
def test_the_interpreter_ends_soon_and_without_a_word(what: str) -> None:
    script = "import atexit, os, threading, time\n"
    script += "atexit.register(lambda: Program('bf', ranks=2).verify())\n"
    script += "from ripeline import Program\n" + textwrap.dedent(what)
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert time.monotonic() - begun < 10


def test_memory_is_flat() -> None:
    program = Program("1f1b", ranks=2)
    long = Program("bf", ranks=64)

    def call(times: int) -> None:
        for turn in range(times):
            program.verify(4).json()
            program.simulate(4).json()
            if turn % 50 == 0:
                with pytest.raises(Enough):
                    long.verify(progress=ends_after(0.03))

    call(200)
    before = resident_bytes()
    call(max(300, int(SECONDS * 150)))
    grown = resident_bytes() - before
    print(f"{before / 2**20:.1f} MiB, then {grown / 2**20:.2f} MiB more")
    assert grown < 4 * 2**20


def test_short_calls_cost_little() -> None:
    program = Program("1f1b", ranks=2)
    program.verify(4)
    begun = time.process_time()
    for _ in range(100):
        program.verify(4, repairs=False)
    assert (time.process_time() - begun) / 100 < 0.01
