"""Faults of a rank in each phase of `ripeline.torch.Schedule`: how all ranks end, how soon, and what is left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed.pipelining")

import torch
from ranks import Ranks

import ripeline
from ripeline.torch import _meeting

PROCESSES = 3
MICROBATCHES = 6
MOMENT = 4
"""The microbatch in whose task something happens, in the second step."""


class Odd(Exception):
    """What user code raises."""


@dataclass(frozen=True)
class Case:
    what: str
    """An exception or the name of a signal."""
    phase: str
    rank: int
    """The rank to which it happens."""


@dataclass(frozen=True)
class Outcome:
    """How a rank ended."""

    error: str
    """The type of what was raised, or an empty string."""
    text: str
    at: float
    """The time on the clock of all processes."""
    trace: str
    again: str = ""
    """The first line of what another step raises."""
    left: tuple[str, ...] = ()
    """Threads and descriptors that are left behind."""


class Calls(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Any, call: Callable[[], None]) -> Any:
        context.call = call
        return x.view_as(x)

    @staticmethod
    def backward(context: Any, *grads: Any) -> Any:
        context.call()
        return grads[0], None


class Part(torch.nn.Module):
    """A stage that makes calls in its forwards and backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.in_forward: Callable[[], None] = lambda: None
        self.in_backward: Callable[[], None] = lambda: None

    def forward(self, x: Any) -> Any:
        self.in_forward()
        return Calls.apply(self.inner(x), lambda: self.in_backward())  # type: ignore[no-untyped-call]


def schedule_of(
    rank: int,
    program: Any = "bf",
    microbatches: int = MICROBATCHES,
    loss_fn: Any = torch.nn.functional.mse_loss,
    connect: float = 20,
    stall: float = 60,
    **options: Any,
) -> Any:
    from torch.distributed.pipelining import PipelineStage

    from ripeline.torch import Limits, Schedule

    stage = PipelineStage(Part(), rank, PROCESSES, torch.device("cpu"))
    limits = Limits(connect=connect, stall=stall)
    return Schedule(program, stage, microbatches, loss_fn=loss_fn, limits=limits, **options)


def step(schedule: Any) -> None:
    x = torch.ones(2 * MICROBATCHES, 4)
    schedule.step(*((x,) if schedule._stage.is_first else ()), target=x)


def ended(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except BaseException as error:
        at = time.monotonic()
        return Outcome(type(error).__name__, str(error), at, traceback.format_exc())
    return Outcome("", "", time.monotonic(), "")


def owned() -> set[str]:
    """This process's threads and descriptors."""
    found = {f"thread {thread}" for thread in os.listdir("/proc/self/task")}
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(f"{descriptor}: {os.readlink(f'/proc/self/fd/{descriptor}')}")
    return found


def attempt(rank: int, case: Case, pids: list[int], folder: str) -> Outcome:
    """Makes a schedule, and a good step, and one in which the case happens at the time in the file `mark`."""
    tempfile.tempdir = folder
    before = owned()
    count = 0
    timers: list[threading.Timer] = []

    def mark() -> None:
        Path(folder, "mark").write_text(repr(time.monotonic()))

    def now() -> None:
        mark()
        if case.what == "exception":
            raise Odd("this is odd")
        os.kill(pids[case.rank], getattr(signal, case.what))

    def happens() -> None:
        nonlocal count
        count += 1
        if count != MOMENT:
            return
        if case.phase == "waiting":
            time.sleep(0.3)
            now()
            time.sleep(0.3)
        elif case.what == "SIGINT":
            # A call that no signal interrupts.
            timers.append(threading.Timer(0.02, now))
            timers[0].start()
            try:
                torch.ones(1500, 1500).mm(torch.ones(1500, 1500))
            finally:
                timers[0].join()
                mark()
        else:
            now()

    def loss(output: Any, target: Any) -> Any:
        happens()
        return torch.nn.functional.mse_loss(output, target)

    def met(*arguments: Any) -> Any:
        place = meet(*arguments)
        now()
        return place

    def make() -> Any:
        if rank == case.rank and case.phase == "coming":
            now()
        return schedule_of(rank, connect=3 if case.phase in ("coming", "connecting") else 20)

    meet = _meeting.meet
    try:
        if rank == case.rank and case.phase == "connecting":
            _meeting.meet = met  # type: ignore[assignment]
        if case.phase in ("coming", "connecting"):
            first = ended(make)
            return replace(first, left=tuple(owned() - before))
        schedule = make()
    finally:
        _meeting.meet = meet
    step(schedule)
    if case.phase == "between":
        if rank == case.rank:
            now()
        time.sleep(0.3)
    part = schedule._stage.submod
    if rank == (0 if case.phase == "waiting" else case.rank):
        if case.phase in ("forward", "waiting"):
            part.in_forward = happens
        elif case.phase == "backward":
            part.in_backward = happens
        elif case.phase == "loss":
            schedule._loss_fn = loss
    first = ended(lambda: step(schedule))
    again = ended(lambda: step(schedule))
    schedule.close()
    # PyTorch's exceptions and schedules are in cycles.
    del schedule, part
    gc.collect()
    return replace(first, again=f"{again.error}: {again.text.splitlines()[0]}", left=tuple(owned() - before))


class Ended:
    """How the ranks ended in a case, without those that died."""

    def __init__(self, ranks: Ranks, case: Case, folder: Path) -> None:
        (folder / "mark").unlink(missing_ok=True)
        results = ranks.run(attempt, case, [process.pid for process in ranks.processes], str(folder))
        at = float((folder / "mark").read_text())
        self.outcomes = {r: one for r, one in enumerate(results) if isinstance(one, Outcome)}
        self.seconds = {r: one.at - at for r, one in self.outcomes.items()}
        for rank, outcome in self.outcomes.items():
            assert outcome.error, f"rank {rank} did not fail"
            assert outcome.left == (), f"rank {rank}"
            assert self.seconds[rank] < 5, f"rank {rank}: {outcome.text}"
        assert [file.name for file in folder.iterdir()] == ["mark"]


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    """Processes for cases that leave them alive."""
    with Ranks(PROCESSES) as started:
        started.run(warm)
        yield started


def warm(rank: int) -> None:
    """Starts what PyTorch starts once."""
    schedule = schedule_of(rank)
    step(schedule)
    schedule.close()


@pytest.mark.parametrize(
    "case",
    [
        Case("exception", "forward", 1),
        Case("exception", "loss", 2),
        Case("exception", "backward", 2),
        Case("SIGINT", "forward", 1),
        Case("SIGINT", "backward", 2),
        Case("SIGINT", "waiting", 1),
    ],
    ids=str,
)
def test_a_rank_that_raises_ends_all(ranks: Ranks, case: Case, tmp_path: Path) -> None:
    raised = "Odd" if case.what == "exception" else "KeyboardInterrupt"
    for last in (False, False, True):
        ended = Ended(ranks, case, tmp_path)
        # A busy machine may delay a process; three times in a row it does not.
        if case.what == "exception" or ended.seconds[case.rank] < 0.2:
            break
        assert not last, f"KeyboardInterrupt after {ended.seconds[case.rank]} s"
    own = ended.outcomes.pop(case.rank)
    assert own.error == raised
    if case.phase in ("coming", "connecting"):
        for other in ended.outcomes.values():
            assert other.error in ("Error", "RunFailed") and f"rank {case.rank}" in other.text
        return
    if case.what == "exception":
        assert own.trace.endswith("test_torch_faults.Odd: this is odd\n")
        assert "raise Odd(" in own.trace
    task = "" if case.phase == "waiting" else f"in {case.rank}{'B' if case.phase == 'backward' else 'F'}"
    for other in ended.outcomes.values():
        first, *rest = other.text.splitlines()
        assert other.error == "RunFailed"
        assert re.fullmatch(rf"rank {case.rank} failed: {task}\d?:? ?(\w+\.)*{raised}(: .*)?", first)
        assert own.trace.strip().splitlines()[-3:] == [line for line in rest if line in own.trace][-3:]
        assert other.again == f"RunFailed: {first}"
    assert own.again == f"RunFailed: {first}"


@pytest.mark.parametrize("phase", ["coming", "connecting", "forward", "waiting", "between"])
@pytest.mark.parametrize("what", ["SIGTERM", "SIGKILL"])
def test_the_others_see_that_a_rank_dies(what: str, phase: str, tmp_path: Path) -> None:
    case = Case(what, phase, 2 if what == "SIGTERM" or phase == "waiting" else 0)
    with Ranks(PROCESSES) as mortal:
        mortal.run(warm)
        ended = Ended(mortal, case, tmp_path)
    assert sorted(ended.outcomes) == [rank for rank in range(PROCESSES) if rank != case.rank]
    for outcome in ended.outcomes.values():
        assert outcome.error == ("Error" if phase in ("coming", "connecting") else "RunFailed")
        if phase not in ("coming", "connecting"):
            assert outcome.text.startswith(f"rank {case.rank} was lost")
            assert outcome.again == f"RunFailed: {outcome.text.splitlines()[0]}"


def differ(rank: int, how: str) -> Outcome:
    """Rank 1 does something else than the others."""
    options = DIFFERENT.get(how, {}) if rank == 1 else {}
    if how == "another placement" and rank == 1:
        options = {"program": ripeline.Program("interleaved_1f1b", ranks=PROCESSES)}
    stall = 2 if how in ("fewer steps", "eval") else 60
    made: list[Any] = []
    outcome = ended(lambda: made.append(schedule_of(rank, stall=stall, **options)))
    for schedule in made:
        step(schedule)
        if rank == 1 and how == "close":
            outcome = ended(schedule.close)
        elif rank == 1 and how == "eval":
            outcome = ended(schedule.eval)
        else:
            if rank == 1 and how == "fewer steps":
                time.sleep(4)
            outcome = ended(lambda: step(schedule))
        schedule.close()
    return outcome


DIFFERENT: dict[str, dict[str, Any]] = {
    "n_microbatches": {"microbatches": MICROBATCHES - 1},
    "program": {"program": "1f1b"},
    "forwards": {"forwards": "any"},
}


@pytest.mark.parametrize(
    "how, error, text",
    [
        ("another placement", "Error", "the program has the stages [1, 4] of 6 on rank 1, and this"),
        ("n_microbatches", "Error", "rank 1 has n_microbatches 5, and rank 0 has 6"),
        ("program", "Error", "rank 1 has the program one_f_one_b ("),
        ("forwards", "Error", "rank 1 has forwards any, and rank 0 has in order"),
        ("close", "RunFailed", "rank 1 was lost"),
        ("fewer steps", "RunFailed", "waits for"),
        ("eval", "RunFailed", "the gather waits for"),
    ],
)
def test_a_rank_that_differs_ends_all(ranks: Ranks, how: str, error: str, text: str) -> None:
    for rank, outcome in enumerate(ranks.run(differ, how)):
        if rank != 1 or how != "close":
            assert (outcome.error, text in outcome.text) == (error, True), f"rank {rank}: {outcome}"


class Sleeping(torch.utils.data.Dataset[int]):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, i: int) -> Any:
        time.sleep(3)
        return i


def leave_workers(rank: int, folder: str) -> Outcome:
    """Rank 1 dies between two steps while workers that it has forked live on."""
    tempfile.tempdir = folder
    schedule = schedule_of(rank)
    step(schedule)
    if rank == 1:
        # A process of multiprocessing that is a daemon may have no children.
        multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        context = multiprocessing.get_context("fork")
        loader = torch.utils.data.DataLoader(Sleeping(), num_workers=2, multiprocessing_context=context)
        workers = iter(loader)
        time.sleep(0.3)
        Path(folder, "mark").write_text(repr(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)
        del workers
    outcome = ended(lambda: step(schedule))
    schedule.close()
    return outcome


def test_a_forked_child_does_not_hide_the_death_of_its_parent(tmp_path: Path) -> None:
    with Ranks(PROCESSES) as mortal:
        first, _, last = mortal.run(leave_workers, str(tmp_path))
    for outcome in (first, last):
        assert outcome.text.startswith("rank 1 was lost")
        assert outcome.at - float((tmp_path / "mark").read_text()) < 1


def make_many(rank: int, folder: str) -> set[str]:
    """What 50 schedules leave behind, of which every other is only dropped."""
    tempfile.tempdir = folder
    before = owned()
    program = ripeline.Program("bf", ranks=PROCESSES)
    for i in range(50):
        schedule = schedule_of(rank, program)
        step(schedule)
        if i % 2:
            schedule.close()
        del schedule
    return owned() - before


def test_schedules_leave_nothing_behind(ranks: Ranks, tmp_path: Path) -> None:
    assert ranks.run(make_many, str(tmp_path), seconds=120) == [set()] * PROCESSES
    assert list(tmp_path.iterdir()) == []


def grow(rank: int, steps: int) -> tuple[int, int, int]:
    """How many bytes, tensors and descriptors a rank has more after many steps, with evaluations between."""
    schedule = schedule_of(rank)

    def now() -> tuple[int, int, int]:
        gc.collect()
        tensors = sum(isinstance(one, torch.Tensor) for one in gc.get_objects())
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), tensors, len(os.listdir("/proc/self/fd"))

    for _ in range(50):
        step(schedule)
    before = now()
    for i in range(steps):
        step(schedule)
        if i % 10 == 0:
            with torch.no_grad():
                schedule.eval(*[torch.ones(2 * MICROBATCHES, 4)] * (rank == 0))
    after = now()
    schedule.close()
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def test_a_thousand_steps_grow_nothing(ranks: Ranks) -> None:
    for grown, tensors, descriptors in ranks.run(grow, 1_000, seconds=300):
        assert (tensors, descriptors) == (0, 0)
        assert grown < 4_000_000, "a tensor of each microbatch would be more than that"
