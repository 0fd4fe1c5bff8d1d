"""`ripeline.torch.Schedule` on the stages of several processes, against the unpipelined model."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ranks import RankFailed, Ranks  # noqa: E402

PROCESSES = 4
CASES = int(os.environ.get("RIPELINE_RANDOM_STEPS", "40"))


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    with Ranks(PROCESSES) as started:
        yield started


def part(stage: int, width: int) -> Any:
    torch.manual_seed(stage)
    return torch.nn.Sequential(
        torch.nn.Linear(width, 2 * width),
        torch.nn.Tanh(),
        torch.nn.LayerNorm(2 * width),
        torch.nn.Linear(2 * width, width),
    )


def batch(seed: int, microbatches: int, width: int) -> tuple[Any, Any]:
    draw = torch.Generator().manual_seed(seed)
    shape = (3 * microbatches + 1, width)
    return torch.randn(shape, generator=draw), torch.randn(shape, generator=draw)


def mse(output: Any, target: Any) -> Any:
    return torch.nn.functional.mse_loss(output, target)


def reference(
    stages: int, microbatches: int, width: int, seeds: list[int]
) -> tuple[list[list[Any]], list[list[float]]]:
    """The gradients of each stage after the last step, and the losses of each step."""
    torch.set_num_threads(1)
    parts = [part(stage, width) for stage in range(stages)]
    model = torch.nn.Sequential(*parts)
    all_losses = []
    for seed in seeds:
        model.zero_grad()
        x, y = batch(seed, microbatches, width)
        losses = []
        for inputs, target in zip(
            torch.tensor_split(x, microbatches), torch.tensor_split(y, microbatches), strict=True
        ):
            loss = mse(model(inputs), target)
            loss.backward()
            losses.append(loss.item())
        all_losses.append(losses)
    return [[p.grad / microbatches for p in one.parameters()] for one in parts], all_losses


def train(
    rank: int,
    name: str,
    params: dict[str, int],
    microbatches: int,
    width: int,
    seeds: list[int],
    options: dict[str, str],
) -> tuple[dict[int, list[Any]], list[list[float]], Any]:
    """Steps of one rank: the gradients after the last one, the losses of each, and an evaluation."""
    from torch.distributed.pipelining import PipelineStage

    import ripeline
    import ripeline.torch

    program = ripeline.Program(name, **params)
    placement = program._program.placement
    parts = {s: part(s, width) for s, r in enumerate(placement) if r == rank}
    device = torch.device("cpu")
    stages = [PipelineStage(one, s, len(placement), device) for s, one in parts.items()]
    schedule = ripeline.torch.Schedule(
        program,
        stages[0] if len(stages) == 1 else stages,
        microbatches,
        loss_fn=mse,
        **options,
    )
    all_losses = []
    for seed in seeds:
        for one in parts.values():
            one.zero_grad()
        x, y = batch(seed, microbatches, width)
        losses: list[Any] = []
        args = (x,) if 0 in parts else ()
        if len(schedule._tasks) > 1:
            with torch.no_grad():
                schedule.eval(*args)
        output = schedule.step(*args, target=y, losses=losses)
        assert (output is not None) == (len(placement) - 1 in parts)
        all_losses.append([loss.item() for loss in losses])
    gradients = {s: [p.grad.clone() for p in one.parameters()] for s, one in parts.items()}
    evaluated = None
    if len(schedule._tasks) > 1:
        with torch.no_grad():
            evaluated = schedule.eval(*args)
    schedule.close()
    return gradients, all_losses, evaluated


def check(
    ranks: Ranks,
    name: str,
    params: dict[str, int],
    microbatches: int,
    width: int,
    seeds: list[int],
    exact: bool,
    **options: str,
) -> None:
    results = ranks.run(train, name, params, microbatches, width, seeds, options)
    gradients: dict[int, list[Any]] = {}
    for found, _, _ in results:
        gradients |= found
    wanted, losses = reference(len(gradients), microbatches, width, seeds)
    assert sorted(gradients) == list(range(len(gradients)))
    for stage, of_stage in enumerate(wanted):
        for mine, right in zip(gradients[stage], of_stage, strict=True):
            if exact:
                assert torch.equal(mine, right), f"stage {stage}"
            else:
                torch.testing.assert_close(mine, right, rtol=1e-5, atol=1e-7)
    last = max(range(PROCESSES), key=lambda r: max(results[r][0]))
    assert results[last][1] == losses
    model = torch.nn.Sequential(*(part(s, width) for s in range(len(gradients))))
    x, _ = batch(seeds[-1], microbatches, width)
    if results[last][2] is not None:
        with torch.no_grad():
            torch.testing.assert_close(results[last][2], model(x))


@pytest.mark.parametrize(
    "name",
    """1f1b 1f1b_hint b_first bf bfw bfw_v dualpipe_v eager_1f1b f_first fb gpipe hanayo
    interleaved_1f1b megatron v_half v_min zb_h1 zb_h2 zb_v""".split(),
)
def test_trains_as_the_unpipelined_model(ranks: Ranks, name: str) -> None:
    params = {"ranks": PROCESSES} if name != "megatron" else {"ranks": PROCESSES, "chunks": 2}
    check(ranks, name, params, 8, 6, [1, 2], True, backwards="in order")
    check(ranks, name, params, 8, 6, [1, 2], False, forwards="any")
