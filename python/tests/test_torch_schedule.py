"""`ripeline.torch.Schedule` on the stages of several processes, against the unpipelined model."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed.pipelining")

import torch
from conftest import command
from ranks import Ranks

import ripeline

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
    params: dict[str, Any],
    microbatches: int,
    width: int,
    seeds: list[int],
    options: dict[str, Any],
) -> tuple[dict[int, list[Any]], list[list[float]], Any]:
    """Steps of one rank: the gradients after the last one, the losses of each, and an evaluation."""
    from torch.distributed.pipelining import PipelineStage

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
    params: dict[str, Any],
    microbatches: int,
    width: int,
    seeds: list[int],
    exact: bool,
    **options: Any,
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


LIBRARY = """1f1b 1f1b_hint b_first bf bfw bfw_v dualpipe_v eager_1f1b f_first fb gpipe hanayo
    interleaved_1f1b megatron v_half v_min zb_h1 zb_h2 zb_v""".split()


@pytest.mark.parametrize("name", LIBRARY)
def test_trains_as_the_unpipelined_model(ranks: Ranks, name: str) -> None:
    params = {"ranks": PROCESSES} if name != "megatron" else {"ranks": PROCESSES, "chunks": 2}
    check(ranks, name, params, 8, 6, [1, 2], True, backwards="in order")
    check(ranks, name, params, 8, 6, [1, 2], False, forwards="any")


WIDTH = 4
MICROBATCHES = 6
KINDS = ("gradient", "integer", "constant", "none")
"""What a stage may send beside its first tensor."""


@dataclass(frozen=True)
class StepCase:
    rows: tuple[int, ...]
    """Of each microbatch."""
    presplit: bool
    evaluates_first: bool
    has_losses: bool
    returns_outputs: bool
    target_everywhere: bool
    finalizes: bool
    has_scale: bool
    """Whether all stages get a tensor as a keyword argument."""
    weight: float | None
    """Given to the loss as a keyword argument."""


@dataclass(frozen=True)
class Case:
    program: str
    params: dict[str, Any]
    kinds: tuple[str, ...]
    sequence: type
    norm: bool
    scales: bool
    options: dict[str, Any]
    steps: tuple[StepCase, ...]


def drawn(seed: int) -> Case:
    draw = random.Random(seed)

    def flip() -> bool:
        return draw.random() < 0.5

    name = draw.choice(LIBRARY)
    params: dict[str, Any] = {"ranks": PROCESSES} | ({"chunks": 2} if name == "megatron" else {})
    first, last = ripeline.Program(name, **params).microbatches
    m = draw.choice([m for m in (1, 2, 3, 4, 6, 8, 11, 16) if m >= first and (last is None or m <= last)])
    steps = []
    for _ in range(3):
        presplit = flip()
        total = draw.randint(2 * m, 5 * m)
        even = tuple(len(part) for part in torch.tensor_split(torch.empty(total), m))
        rows = tuple(draw.randint(2, 5) for _ in range(m)) if presplit else even
        weight = draw.choice([None, 0.5])
        flips = [flip() for _ in range(6)]
        steps.append(StepCase(rows, presplit, *flips, weight))  # type: ignore[call-arg]
    # Most programs deadlock if forwards may overtake each other and backwards may not.
    forwards, backwards = draw.choice([("in order", "in order"), ("in order", "any"), ("any", "any")])
    orders = {"forwards": forwards, "backwards": backwards}
    kinds = tuple(draw.sample(KINDS, draw.randint(0, 4)))
    return Case(name, params, kinds, draw.choice([tuple, list]), flip(), flip(), orders, tuple(steps))


class Mixed(torch.nn.Module):
    """A stage that gets and sends values of several kinds."""

    def __init__(self, case: Case, stage: int, stages: int) -> None:
        super().__init__()
        torch.manual_seed(stage)
        self.case, self.is_first, self.is_last = case, stage == 0, stage == stages - 1
        self.norm = torch.nn.BatchNorm1d(WIDTH) if case.norm else torch.nn.LayerNorm(WIDTH)
        self.linear = torch.nn.Linear(WIDTH, WIDTH)
        self.table = torch.nn.Embedding(5, WIDTH)
        self.gain = torch.nn.Parameter(torch.rand(WIDTH))
        # So that another order of a sum makes no difference that steps enlarge.
        self.double()

    def forward(self, x: Any, *given: Any, scale: Any = None) -> Any:
        y = torch.tanh(self.linear(self.norm(x)))
        if scale is not None:
            y = y * scale
        sent = []
        if self.is_first:
            integer, constant = torch.arange(len(x)) % 5, x.detach().cos()
            start = {"gradient": y, "integer": integer, "constant": constant, "none": None}
            given = tuple(start[kind] for kind in self.case.kinds)
        for kind, value in zip(self.case.kinds, given, strict=True):
            if kind == "gradient":
                y = y + value
                sent.append(y * self.gain)
            elif kind == "integer":
                y = y + self.table(value)
                sent.append((value + 1) % 5)
            elif kind == "constant":
                assert not value.requires_grad
                y = y + value
                sent.append(value.cos())
            else:
                assert value is None
                sent.append(None)
        return y if self.is_last or not sent else self.case.sequence((y, *sent))


def weighted(output: Any, target: Any, weight: float = 1.0) -> Any:
    return weight * torch.nn.functional.mse_loss(output, target)


@dataclass(frozen=True)
class StepData:
    args: list[tuple[Any, ...]]
    kwargs: list[dict[str, Any]]
    targets: list[Any]
    loss_kwargs: dict[str, Any] | None


def data(step: StepCase, number: int) -> StepData:
    draw = torch.Generator().manual_seed(number)

    def tensors() -> list[Any]:
        whole = torch.randn((sum(step.rows), WIDTH), generator=draw, dtype=torch.float64)
        return list(torch.split(whole, list(step.rows)))

    args = [(x,) for x in tensors()]
    kwargs = [{"scale": scale} if step.has_scale else {} for scale in tensors()]
    return StepData(args, kwargs, tensors(), None if step.weight is None else {"weight": step.weight})


def update(parts: list[Any]) -> None:
    """A step of an optimizer, after which the next gradients are others."""
    with torch.no_grad():
        for part in parts:
            for parameter in part.parameters():
                if parameter.grad is not None:
                    parameter -= 0.1 * parameter.grad


@dataclass
class StepResult:
    """By stage the gradients, and the buffers; and the rest, where the last stage is."""

    gradients: dict[int, list[Any]]
    buffers: dict[int, list[Any]]
    evaluated: Any
    output: Any
    losses: Any


def result_of(parts: dict[int, Any], evaluated: Any, output: Any, losses: Any) -> StepResult:
    gradients = {
        s: [None if p.grad is None else p.grad.clone() for p in one.parameters()] for s, one in parts.items()
    }
    buffers = {s: [buffer.clone() for buffer in one.buffers()] for s, one in parts.items()}
    return StepResult(gradients, buffers, evaluated, output, losses)


def run_case(rank: int, seed: int) -> list[StepResult]:
    """The steps of a case on one rank."""
    from torch.distributed.pipelining import PipelineStage

    from ripeline.torch import Schedule

    case = drawn(seed)
    program = ripeline.Program(case.program, **case.params)
    placement = program._program.placement
    count = len(placement)
    parts = {s: Mixed(case, s, count) for s, r in enumerate(placement) if r == rank}
    stages = [PipelineStage(one, s, count, torch.device("cpu")) for s, one in parts.items()]
    schedule = Schedule(
        program,
        stages if len(stages) > 1 else stages[0],
        len(case.steps[0].rows),
        loss_fn=weighted,
        scale_grads=case.scales,
        **case.options,
    )
    has_last = count - 1 in parts
    results = []
    for number, step in enumerate(case.steps):
        batch = data(step, number)
        for one in parts.values():
            one.zero_grad()
        args: tuple[Any, ...] = ()
        named: dict[str, Any] = {}
        has_target = has_last or step.target_everywhere
        if step.presplit:
            named = {"arg_mbs": batch.args if 0 in parts else None, "kwarg_mbs": batch.kwargs}
            named["target_mbs"] = batch.targets if has_target else None
        else:
            args = (torch.cat([x for (x,) in batch.args]),) if 0 in parts else ()
            if step.has_scale:
                named["scale"] = torch.cat([one["scale"] for one in batch.kwargs])
            named["target"] = torch.cat(batch.targets) if has_target else None
        evaluated = None
        if step.evaluates_first and len(schedule._tasks) > 1:
            with torch.no_grad() if number % 2 else nullcontext():
                evaluated = schedule.eval(*args, **named)
        losses: list[Any] | None = [] if step.has_losses else None
        output = schedule.step(
            *args,
            **named,
            losses=losses,
            return_outputs=step.returns_outputs,
            loss_kwargs=batch.loss_kwargs,
            finalize_gradients=step.finalizes,
        )
        assert (output is not None) == (has_last and step.returns_outputs)
        assert not has_last or output is None or not output.requires_grad
        results.append(result_of(parts, evaluated, output, torch.stack(losses) if losses else None))
        update(list(parts.values()))
    schedule.close()
    return results


def expected(seed: int) -> list[StepResult]:
    """The same without a pipeline."""
    case = drawn(seed)
    program = ripeline.Program(case.program, **case.params)
    evaluates = _has_forward_pass(program)
    count = len(program._program.placement)
    parts = {s: Mixed(case, s, count) for s in range(count)}

    def forward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values: Any = args
        for part in parts.values():
            given = part(*values, **kwargs)
            values = given if isinstance(given, (tuple, list)) else (given,)
        return values[0]

    results = []
    for number, step in enumerate(case.steps):
        batch = data(step, number)
        evaluated = None
        if step.evaluates_first and evaluates:
            with torch.no_grad():
                given = zip(batch.args, batch.kwargs, strict=True)
                evaluated = torch.cat([forward(args, kwargs) for args, kwargs in given])
        outputs, losses = [], []
        for one in parts.values():
            one.zero_grad()
        for args, kwargs, target in zip(batch.args, batch.kwargs, batch.targets, strict=True):
            outputs.append(forward(args, kwargs))
            losses.append(weighted(outputs[-1], target, **(batch.loss_kwargs or {})))
            losses[-1].backward()
        if step.finalizes and case.scales:
            for part in parts.values():
                for parameter in part.parameters():
                    if parameter.grad is not None:
                        parameter.grad /= len(step.rows)
        output = torch.cat(outputs).detach() if step.returns_outputs else None
        stacked = torch.stack(losses).detach() if step.has_losses else None
        results.append(result_of(parts, evaluated, output, stacked))
        update(list(parts.values()))
    return results


def _has_forward_pass(program: Any) -> bool:
    try:
        program.forward_only()
    except ripeline.Error:
        return False
    return True


@pytest.mark.parametrize("seed", range(CASES))
def test_random_steps_train_as_the_unpipelined_model(ranks: Ranks, seed: int) -> None:
    case = drawn(seed)
    found = ranks.run(run_case, seed)

    def compare(what: str, mine: Any, right: Any) -> None:
        where = f"step {number}, {what}, seed {seed}: {case}"
        assert (mine is None) == (right is None), where
        if right is not None:
            torch.testing.assert_close(mine, right, rtol=1e-9, atol=1e-9, msg=lambda text: f"{where}\n{text}")

    for number, right in enumerate(expected(seed)):
        mine = [results[number] for results in found]
        gradients = {s: g for one in mine for s, g in one.gradients.items()}
        buffers = {s: b for one in mine for s, b in one.buffers.items()}
        assert sorted(gradients) == sorted(right.gradients)
        last = next(one for one in mine if len(right.gradients) - 1 in one.gradients)
        compare("evaluation", last.evaluated, right.evaluated)
        compare("output", last.output, right.output)
        compare("losses", last.losses, right.losses)
        for stage, of_stage in right.gradients.items():
            for i, gradient in enumerate(of_stage):
                compare(f"stage {stage}, gradient {i}", gradients[stage][i], gradient)
            if case.options["forwards"] == "in order":
                for i, buffer in enumerate(right.buffers[stage]):
                    compare(f"stage {stage}, buffer {i}", buffers[stage][i], buffer)


def titan(rank: int, name: str, per_rank: int) -> tuple[dict[int, list[Any]], Any]:
    """The calls of TorchTitan: a class by its name, and lists with an entry for each microbatch."""
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle

    from ripeline.torch import schedule_class

    def get_schedule_class(name: str) -> Any:
        return schedule_class(name, stages_per_rank=per_rank)

    cls = get_schedule_class(name)
    is_single = issubclass(cls, PipelineScheduleSingle)
    assert is_single == (per_rank == 1) and issubclass(cls, PipelineScheduleMulti) != is_single
    count = per_rank * PROCESSES
    parts = {s: part(s, WIDTH) for s in range(rank, count, PROCESSES)}
    stages = [PipelineStage(one, s, count, torch.device("cpu")) for s, one in parts.items()]
    options = {} if is_single else {"backward_requires_autograd": False}
    schedule = cls(
        stages[0] if is_single else stages,
        n_microbatches=MICROBATCHES,
        loss_fn=weighted,
        scale_grads=False,
        **options,
    )
    x, y = batch(1, MICROBATCHES, WIDTH)
    has_first, has_last = 0 in parts, count - 1 in parts
    losses: list[Any] | None = [] if has_last else None
    output = schedule.step(
        arg_mbs=[(one,) for one in x.tensor_split(MICROBATCHES)] if has_first else None,
        kwarg_mbs=[{} for _ in range(MICROBATCHES)],
        target_mbs=list(y.tensor_split(MICROBATCHES)) if has_last else None,
        losses=losses,
        loss_kwargs={"weight": 1 / MICROBATCHES},
        return_outputs=False,
    )
    assert output is None
    schedule.close()
    gradients = {s: [p.grad for p in one.parameters()] for s, one in parts.items()}
    return gradients, None if losses is None else torch.stack(losses)


@pytest.mark.parametrize("name, per_rank", [("bf", 1), ("interleaved_1f1b", 2)])
def test_it_takes_the_calls_of_torchtitan(ranks: Ranks, name: str, per_rank: int) -> None:
    found = ranks.run(titan, name, per_rank)
    wanted, losses = reference(per_rank * PROCESSES, MICROBATCHES, WIDTH, [1])
    for gradients, _ in found:
        for stage, mine in gradients.items():
            torch.testing.assert_close(mine, wanted[stage], rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(found[-1][1], torch.tensor(losses[0]) / MICROBATCHES)


def automodel(rank: int) -> tuple[list[Any], list[Any], int]:
    """The calls of AutoModel, which sets attributes between steps; the second loss counts its calls."""
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.microbatch import TensorChunkSpec

    from ripeline.torch import Schedule

    class Masked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = part(rank, WIDTH)

        def forward(self, x: Any, mask: Any = None) -> Any:
            return self.inner(x) * mask

    one = Masked()
    stage = PipelineStage(one, rank, PROCESSES, torch.device("cpu"))
    schedule: Any = Schedule("bf", stage, MICROBATCHES, loss_fn=mse)
    backwards = 0
    run_backward = stage.backward_maybe_with_nosync

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal backwards
        backwards += 1
        return run_backward(*args, **kwargs)

    stage.backward_maybe_with_nosync = counted  # type: ignore[method-assign]
    x, y = batch(1, MICROBATCHES, WIDTH)
    args = (x,) if stage.is_first else ()
    losses: list[Any] = []
    teacher = list(y.tensor_split(MICROBATCHES))
    for loss in (mse, lambda output, _: mse(output, teacher.pop(0))):
        one.zero_grad()
        schedule._loss_fn = loss
        schedule._kwargs_chunk_spec = {"mask": TensorChunkSpec(0)}  # type: ignore[no-untyped-call]
        schedule._stage_forward_initialized = False
        for name in ("args_recv_info", "grad_recv_info", "grad_send_info", "_outputs_meta", "inputs_meta"):
            setattr(stage, name, None)
        step_losses: list[Any] = []
        schedule.step(*args, target=y, losses=step_losses, mask=torch.ones(len(x), 1))
        losses += step_losses
    schedule.close()
    return [p.grad for p in one.parameters()], losses, backwards


def test_it_takes_the_calls_of_automodel(ranks: Ranks) -> None:
    wanted, losses = reference(PROCESSES, MICROBATCHES, WIDTH, [1])
    for stage, (gradients, mine, backwards) in enumerate(ranks.run(automodel)):
        torch.testing.assert_close(gradients, wanted[stage], rtol=1e-5, atol=1e-7)
        assert backwards == 2 * MICROBATCHES
        if stage == PROCESSES - 1:
            torch.testing.assert_close(torch.stack(mine), torch.tensor(losses[0] * 2))


JOIN = """pipeline join {
  microbatches any;
  stages vision 2, text 1, decoder 1;
  edges vision -> decoder, text -> decoder;
  place s on s;
  op F forward sequential { needs F at prev;  acquires a; }
  op B backward { needs F at here, B at next;  releases a; }
  resource a per stage { capacity stages - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
"""


def refusal(rank: int, program: str, variables: dict[str, str]) -> str:
    """What a schedule is refused for, with these environment variables."""
    from torch.distributed.pipelining import PipelineStage

    from ripeline.torch import Schedule

    os.environ.update(variables)
    try:
        stage = PipelineStage(part(rank, WIDTH), rank, PROCESSES, torch.device("cpu"))
        Schedule(program, stage, MICROBATCHES, loss_fn=mse).close()
    except ripeline.Error as error:
        return str(error)
    finally:
        for name in variables:
            del os.environ[name]
    return ""


def test_stages_that_are_no_chain_are_refused(ranks: Ranks) -> None:
    for text in ranks.run(refusal, JOIN, {}):
        assert text.startswith("PyTorch's stages are a chain, and a stage of the program takes"), text


def test_instruments_of_the_environment_that_cannot_be_are_refused(ranks: Ranks) -> None:
    for variable, value, why in (
        ("RIPELINE_DELAY", "compute=Q:3", "RIPELINE_DELAY: "),
        ("RIPELINE_TRACE", "/no/folder/run.json", "RIPELINE_TRACE: /no/folder/run.json"),
    ):
        for text in ranks.run(refusal, "bf", {variable: value}):
            assert text.startswith(why), text


def instrumented(rank: int, folder: str) -> tuple[float, float]:
    """The seconds that a step and an evaluation take at least, if each forward takes 20 ms."""
    from torch.distributed.pipelining import PipelineStage

    from ripeline.torch import Schedule

    variables = {"RIPELINE_TRACE": f"{folder}/run.json", "RIPELINE_DELAY": "compute=F:20"}
    os.environ.update(variables)
    try:
        stage = PipelineStage(part(rank, WIDTH), rank, PROCESSES, torch.device("cpu"))
        schedule = Schedule("bf", stage, MICROBATCHES, loss_fn=mse)
    finally:
        for name in variables:
            del os.environ[name]
    x, y = batch(1, MICROBATCHES, WIDTH)
    args = (x,) if stage.is_first else ()
    start = time.monotonic()
    schedule.step(*args, target=y)
    stepped = time.monotonic()
    with torch.no_grad():
        schedule.eval(*args)
    evaluated = time.monotonic()
    schedule.close()
    return stepped - start, evaluated - stepped


def test_a_trace_is_of_the_proved_program_and_delays_are_injected(ranks: Ranks, tmp_path: Path) -> None:
    for times in ranks.run(instrumented, str(tmp_path)):
        assert min(times) >= 0.02 * MICROBATCHES
    program = tmp_path / "in_order.ripe"
    program.write_text(str(ripeline.Program("bf").sequential("forward").text))
    trace = tmp_path / "run.json"
    checked = command("check-run", trace, "--program", program, "-D", f"ranks={PROCESSES}")
    assert checked.code == 0, checked.out + checked.err
    assert f"1 whole step of {MICROBATCHES} microbatches, {2 * PROCESSES * MICROBATCHES} tasks" in checked.out
    assert [path.name for path in tmp_path.glob("run.json*")] == ["run.json"]
