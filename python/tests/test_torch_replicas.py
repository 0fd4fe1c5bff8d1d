"""Schedules of two pipelines of two ranks, whose stages communicate with those of the other pipeline."""

from __future__ import annotations

import functools
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed.pipelining")

import torch
import torch.distributed as dist
from conftest import command
from ranks import RankFailed, Ranks
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import ripeline

PIPELINES = RANKS = 2
MICROBATCHES = 6
WIDTH = 8
STEPS = 3


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    with Ranks(PIPELINES * RANKS) as started:
        yield started


@functools.cache
def mesh() -> DeviceMesh:
    return init_device_mesh("cpu", (PIPELINES, RANKS), mesh_dim_names=("pipeline", "rank"))


class Part(torch.nn.Module):
    """A stage whose forwards and backwards take a random time if `pauses`, a seed, is given."""

    def __init__(self, stage: int, pauses: int | None = None) -> None:
        super().__init__()
        torch.manual_seed(stage)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH)
        )
        self.draw = None if pauses is None else random.Random(pauses)

    def pause(self, *_: Any) -> None:
        if self.draw is not None:
            time.sleep(self.draw.choice([0, 0.001, 0.004]))

    def forward(self, x: Any) -> Any:
        self.pause()
        y = self.layers(x)
        if y.requires_grad:
            y.register_hook(self.pause)
        return self.combined(y)

    def combined(self, y: Any) -> Any:
        return y


class Sum(torch.autograd.Function):
    """The mean over the pipelines, in the forward or in the backward."""

    @staticmethod
    def forward(context: Any, x: Any, where: str) -> Any:
        context.where = where
        return mean(x) if where == "forward" else x.clone()

    @staticmethod
    def backward(context: Any, *grads: Any) -> Any:
        return mean(grads[0]) if context.where == "backward" else grads[0], None


def mean(x: Any) -> Any:
    x = x.clone()
    dist.all_reduce(x, group=mesh().get_group("pipeline"))
    return x / PIPELINES


class Member(Part):
    """A stage of one of two members that compute the same: what they exchange changes nothing."""

    def __init__(self, stage: int, pauses: int, where: str) -> None:
        super().__init__(stage, pauses)
        self.where = where

    def combined(self, y: Any) -> Any:
        return Sum.apply(y, self.where)  # type: ignore[no-untyped-call]


class Lazy(Part):
    """A stage that makes the group in which it communicates in its first forward."""

    group: Any = None

    def combined(self, y: Any) -> Any:
        if self.group is None:
            ranks = dist.get_process_group_ranks(mesh().get_group("pipeline"))
            self.group = dist.new_group(ranks, use_local_synchronization=True)
        dist.all_reduce(y.detach().clone(), group=self.group)
        return y


def mse(output: Any, target: Any) -> Any:
    return torch.nn.functional.mse_loss(output, target)


def loss_with_a_collective(output: Any, target: Any) -> Any:
    mean(output.detach())
    return mse(output, target)


def batch(pipeline: int, step: int) -> tuple[Any, Any]:
    draw = torch.Generator().manual_seed(10 * step + pipeline)
    return (
        torch.randn((2 * MICROBATCHES, WIDTH), generator=draw),
        torch.randn((2 * MICROBATCHES, WIDTH), generator=draw),
    )


def train(rank: int, name: str, kind: str, alike: bool) -> tuple[dict[int, list[Any]], list[tuple[str, int]]]:
    """Steps of one rank: the gradients of the last step, and the order in which its forwards and backwards ran.

    If `alike`, both pipelines have the same batches, as members of one tensor-parallel group.
    """
    from torch.distributed.pipelining import PipelineStage

    import ripeline.torch

    pipeline, here = divmod(rank, RANKS)
    # With room for some activations a rank often has the choice between a forward and a backward.
    room: dict[str, Any] = {"limit": 4} if name == "bf" else {}
    program = ripeline.Program(name, ranks=RANKS, **room)
    wrapped: dict[int, Any] = {}
    for stage, at in enumerate(program.placement):
        if at != here:
            continue
        if kind.startswith("member"):
            wrapped[stage] = Member(stage, rank, kind.split()[-1])
            continue
        wrapped[stage] = Lazy(stage, rank) if kind == "new group" else Part(stage, rank)
        if kind == "FSDP2":
            for part in (*wrapped[stage].layers, wrapped[stage]):
                fully_shard(part, mesh=mesh()["pipeline"])
        elif kind.startswith("DDP"):
            group = mesh().get_group("pipeline")
            if kind.endswith("sync"):
                wrapped[stage].layers.append(Synchronised())
            wrapped[stage] = DistributedDataParallel(wrapped[stage], process_group=group)
    stages = [
        PipelineStage(
            part, stage, len(program.placement), torch.device("cpu"), group=mesh().get_group("rank")
        )
        for stage, part in wrapped.items()
    ]
    schedule = ripeline.torch.Schedule(
        program,
        stages if len(stages) > 1 else stages[0],
        MICROBATCHES,
        loss_fn=loss_with_a_collective if kind == "loss" else mse,
        forwards="in order" if name == "1f1b" else "any",
    )
    ran: list[tuple[str, int]] = []
    for stage_object in stages:
        watch(stage_object, ran)
    try:
        for step in range(STEPS):
            for part in wrapped.values():
                part.zero_grad()
            x, y = batch(0 if alike else pipeline, step)
            if len(schedule._tasks) > 1:
                with torch.no_grad():
                    schedule.eval(*((x,) if 0 in wrapped else ()))
            schedule.step(*((x,) if 0 in wrapped else ()), target=y)
    finally:
        schedule.close()
    return {stage: gradients(part) for stage, part in wrapped.items()}, ran


def watch(stage: Any, ran: list[tuple[str, int]]) -> None:
    """Appends to `ran` what the stage runs."""
    forward, backward = stage.forward_maybe_with_nosync, stage.backward_maybe_with_nosync

    def forwards(*args: Any, **kwargs: Any) -> Any:
        ran.append(("F", stage.stage_index))
        return forward(*args, **kwargs)

    def backwards(*args: Any, **kwargs: Any) -> Any:
        ran.append(("B", stage.stage_index))
        return backward(*args, **kwargs)

    stage.forward_maybe_with_nosync, stage.backward_maybe_with_nosync = forwards, backwards


class Synchronised(torch.nn.Module):
    """What SyncBatchNorm does, which needs a GPU: the replicas' statistics in each forward."""

    def forward(self, x: Any) -> Any:
        return x - mean(x.detach().mean(0))


def gradients(part: Any) -> list[Any]:
    grads = [parameter.grad for parameter in part.parameters()]
    return [grad.full_tensor() if isinstance(grad, DTensor) else grad.clone() for grad in grads]


Results = list[tuple[dict[int, list[Any]], list[tuple[str, int]]]]
"""What `train()` returns, by rank."""


def check_alike(results: Results) -> None:
    """The two pipelines have the same gradients, bit for bit."""
    for here in range(RANKS):
        for stage, first in results[here][0].items():
            for mine, other in zip(first, results[RANKS + here][0][stage], strict=True):
                assert torch.equal(mine, other), f"stage {stage} of the two pipelines"


def check(results: Results, pipelines: list[int]) -> None:
    """The gradients of one pipeline are the mean of the unpipelined model's for the batches of these."""
    found = {stage: grads for result, _ in results for stage, grads in result.items()}
    parts = [Part(stage) for stage in sorted(found)]
    model = torch.nn.Sequential(*parts)
    for pipeline in pipelines:
        x, y = batch(pipeline, STEPS - 1)
        for inputs, target in zip(x.chunk(MICROBATCHES), y.chunk(MICROBATCHES), strict=True):
            mse(model(inputs), target).backward()
    for stage, part in enumerate(parts):
        for mine, parameter in zip(found[stage], part.parameters(), strict=True):
            assert parameter.grad is not None
            right = parameter.grad / (MICROBATCHES * len(pipelines))
            torch.testing.assert_close(mine, right, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "FSDP2") for name in ("bf", "bfw", "bfw_v", "zb_v", "hanayo", "1f1b")]
    + [(name, "DDP") for name in ("bf", "hanayo", "interleaved_1f1b")],
)
def test_replicas_train(ranks: Ranks, name: str, kind: str) -> None:
    results = ranks.run(train, name, kind, False)
    check_alike(results)
    check(results[:RANKS], [0, 1])


def test_replicas_differ_in_their_orders(ranks: Ranks) -> None:
    """The tests of replicas would show nothing otherwise."""
    for _ in range(10):
        results = ranks.run(train, "bf", "FSDP2", False)
        if any(results[here][1] != results[RANKS + here][1] for here in range(RANKS)):
            return
    raise AssertionError("two pipelines ran in the same order ten times")


WHERE = {"member forward": "0F", "member backward": "1B", "loss": "1F", "DDP sync": "0F", "new group": "0F"}
"""Where a stage or a loss communicates for the first time."""
KINDS = list(WHERE)


@pytest.mark.parametrize("kind", KINDS)
def test_communication_in_tasks_is_refused_where_orders_may_differ(ranks: Ranks, kind: str) -> None:
    with pytest.raises(RankFailed) as raised:
        ranks.run(train, "bf", kind, kind.startswith("member"))
    tracebacks = raised.value.tracebacks
    assert sorted(tracebacks) == [0, 1, 2, 3]
    own = [rank for rank, text in tracebacks.items() if re.search(r"\nripeline.Error: \d[FB]\d comm", text)]
    # One rank or both of each pipeline.
    assert {rank // RANKS for rank in own} == {0, 1}, tracebacks
    task, group = WHERE[kind], r"\w+ \(gloo, ranks (0, 2|1, 3)\)"
    for rank in tracebacks.keys() - own:
        text = tracebacks[rank]
        failed = rf"RunFailed: rank [01] failed: in {task}\d: ripeline.Error: {task}\d comm.* process group {group}"
        assert re.search(failed, text), text
        assert "such as 1f1b" in text


@pytest.mark.parametrize("kind", KINDS)
def test_communication_in_tasks_runs_in_a_committed_order(ranks: Ranks, kind: str) -> None:
    alike = kind.startswith("member")
    results = ranks.run(train, "1f1b", kind, alike)
    if alike or kind == "DDP sync":
        check_alike(results)
    if kind != "DDP sync":  # which computes something else than the model
        check(results[:RANKS], [0])
        check(results[RANKS:], [0 if alike else 1])
    for here in range(RANKS):
        assert results[here][1] == results[RANKS + here][1], "the same order"


def traced(rank: int, folder: str) -> None:
    os.environ["RIPELINE_TRACE"] = f"{folder}/run.json"
    try:
        train(rank, "bf", "DDP", False)
    finally:
        del os.environ["RIPELINE_TRACE"]


def test_a_trace_is_of_one_pipeline(ranks: Ranks, tmp_path: Path) -> None:
    ranks.run(traced, str(tmp_path))
    trace = tmp_path / "run.json"
    checked = command("check-run", trace, "--program", "bf", "-D", f"ranks={RANKS}", "-D", "limit=4")
    assert checked.code == 0, checked.out + checked.err
    assert f"{STEPS} whole steps of {MICROBATCHES} microbatches" in checked.out
    assert list(tmp_path.iterdir()) == [trace]


def test_which_programs_have_a_fixed_order() -> None:
    """Beside a committed order, one op of which each rank has one stage, with its microbatches in turn."""
    in_order = ripeline.Program("1f1b", ranks=2).sequential("forward")
    assert in_order._program.is_committed
    assert in_order.forward_only()._program.is_committed
    assert not ripeline.Program("1f1b", ranks=2).forward_only()._program.is_committed
    assert ripeline.Program("zb_v", ranks=2)._program.is_committed
    two_stages = ripeline.Program("zb_v", ranks=2).sequential("forward").forward_only()
    assert not two_stages._program.is_committed
    assert not ripeline.Program("bf", ranks=2).sequential("forward", "backward")._program.is_committed
    text = ripeline.Program("zb_h1", ranks=2).text
    beside = ripeline.Program(text=re.sub(r"op W ([^{]*)\{", r"op W \1on comm {", text))
    assert not beside._program.is_committed
