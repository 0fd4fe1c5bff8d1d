"""The stages of PyTorch in random orders of their tasks, against the same model without a pipeline."""

from __future__ import annotations

import copy
import multiprocessing
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed.pipelining")

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage
from torch.distributed.tensor import DTensor
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

import ripeline
from ripeline.torch import _pytorch
from ripeline.torch._stage import StageRunner, after_step, before_step

DIM = 8
# Gradients are summed in another order when microbatches overtake each other: a few roundings of fp32.
TOLERANCE = 2e-6

# No stage runs its whole backward in I unless the test says so.
pytestmark = pytest.mark.filterwarnings("error:stage .* runs its whole backward")

Tensors = list[torch.Tensor | None]


def join(file: Path, rank: int, size: int) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=size, timeout=timedelta(seconds=60)
    )


@pytest.fixture(scope="module", autouse=True)
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A process group of this process alone, which PyTorch's stages want."""
    torch.set_num_threads(1)
    join(tmp_path_factory.mktemp("group") / "store", 0, 1)
    yield
    torch.distributed.destroy_process_group()


class Step:
    """The microbatches of one step."""

    def __init__(self, inputs: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]) -> None:
        self.args = [(x,) for x in inputs]
        self.targets = targets
        self.kwargs: list[dict[str, Any]] = [{} for _ in inputs]


def chunks(seed: int, m: int, rows: int) -> Step:
    """`m` microbatches, whose sizes differ by one where `m` does not divide `rows`."""
    numbers = torch.Generator().manual_seed(seed)
    x, y = torch.randn(2, rows, DIM, generator=numbers)
    return Step(torch.tensor_split(x, m), torch.tensor_split(y, m))


def runners_of(
    blocks: Sequence[nn.Module], loss: Callable[..., torch.Tensor], **options: Any
) -> list[StageRunner]:
    cpu = torch.device("cpu")
    stages = [PipelineStage(block, s, len(blocks), cpu, **options) for s, block in enumerate(blocks)]
    for stage in stages:
        stage.has_backward = True
    return [StageRunner(stage, loss if stage.is_last else None) for stage in stages]


def run(
    runners: Sequence[StageRunner],
    step: Step,
    seed: int,
    split: bool,
    in_order: bool,
    before: Callable[[int, int], object] = lambda stage, mb: None,
) -> int:
    """Runs one step, each time a task drawn from the ready ones; returns how many overtook a microbatch.

    `in_order` keeps each op of a stage in the order of the microbatches. Each forward calls `before` first.
    """
    numbers = random.Random(seed)
    count, m = len(runners), len(step.args)
    ops = ["F", "I", "W"] if split else ["F", "B"]
    sent: dict[tuple[int, int], Any] = {}
    grads: dict[tuple[int, int], Any] = {}
    todo = {(op, s, k) for op in ops for s in range(count) for k in range(m)}
    final = dict.fromkeys(range(count), m)
    overtakings = 0

    def ready(op: str, s: int, k: int) -> bool:
        if op == "F":
            return s == 0 or ("F", s - 1, k) not in todo
        if op == "W":
            return ("I", s, k) not in todo
        return ("F", s, k) not in todo and (s == count - 1 or (s, k) in grads)

    def earlier(op: str, s: int, k: int) -> bool:
        return any((op, s, j) in todo for j in range(k))

    before_step(runners)
    while todo:
        tasks = [task for task in sorted(todo) if ready(*task) and not (in_order and earlier(*task))]
        op, s, k = task = numbers.choice(tasks)
        overtakings += earlier(*task)
        todo.discard(task)
        final[s] -= op in "BW"
        last = op in "BW" and final[s] == 0
        runner = runners[s]
        if op == "F":
            before(s, k)
            received = step.args[k] if s == 0 else sent[s, k]
            sent[s + 1, k] = runner.forward(k, received, step.kwargs[k], step.targets[k])
        elif op == "W":
            runner.backward_weight(k, last)
        else:
            backward = runner.backward if op == "B" else runner.backward_input
            grads[s - 1, k] = backward(k, grads.pop((s, k), ()), last)
            wanted = [wanted for _, wanted in sent.pop((s, k), ())]
            assert all(wanted or grad is None for wanted, grad in zip(wanted, grads[s - 1, k], strict=True))
    after_step(runners, m)
    assert [runner.kept for runner in runners] == [0] * count
    return overtakings


def unpipelined(
    blocks: Sequence[nn.Module],
    loss: Callable[..., torch.Tensor],
    step: Step,
    before: Callable[[int, int], object] = lambda stage, mb: None,
) -> tuple[list[Any], list[torch.Tensor]]:
    """The outputs and losses of the model, microbatch by microbatch; the gradients are in the parameters."""
    outputs, losses = [], []
    for k, values in enumerate(step.args):
        for s, block in enumerate(blocks):
            before(s, k)
            output = block(*values, **step.kwargs[k])
            values = output if isinstance(output, tuple) else (output,)
        outputs.append(output)
        losses.append(loss(output, step.targets[k]))
        if losses[-1].requires_grad:
            torch.autograd.backward(losses[-1])
    for grad in gradients(blocks):
        if grad is not None:
            grad.div_(len(step.args))
    return outputs, losses


def gradients(blocks: Sequence[nn.Module]) -> Tensors:
    return [parameter.grad for block in blocks for parameter in block.parameters()]


def buffers(blocks: Sequence[nn.Module]) -> list[torch.Tensor]:
    return [buffer for block in blocks for buffer in block.buffers()]


def agree(found: Tensors, expected: Tensors, exactly: bool) -> None:
    assert [grad is None for grad in found] == [grad is None for grad in expected]
    for ours, theirs in zip(found, expected, strict=True):
        if ours is None or theirs is None:
            continue
        if exactly:
            assert torch.equal(ours, theirs)
        else:
            assert (ours - theirs).abs().max() <= TOLERANCE * theirs.abs().max().clamp_min(1e-3)


def same(found: Any, expected: Any) -> bool:
    """Whether two outputs, which may be dicts or tuples, are bitwise equal."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    return torch.equal(found, expected)


class Block(nn.Module):
    """A stage whose forward is a function of a linear layer and the arguments."""

    def __init__(self, function: Callable[..., Any], *, frozen: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(DIM, DIM)
        self.other = nn.Linear(DIM, DIM)
        self.function = function
        if frozen:
            self.requires_grad_(False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


class Twofold(torch.autograd.Function):
    """x W and x + sum of W: a node with two outputs, both with gradients."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, weight: torch.Tensor) -> Any:
        context.save_for_backward(x, weight)
        return x @ weight, (x + weight.sum())[:, :4]

    @staticmethod
    def backward(context: Any, *grads: Any) -> Any:
        x, weight = context.saved_tensors
        first, second = grads
        dx, dweight = torch.zeros_like(x), torch.zeros_like(weight)
        if first is not None:
            dx, dweight = dx + first @ weight.T, dweight + x.T @ first
        if second is not None:
            dx = torch.cat([dx[:, :4] + second, dx[:, 4:]], 1)
            dweight = dweight + second.sum()
        return dx, dweight


TWOFOLD: Callable[..., Any] = Twofold.apply


def deep(self: Block, x: torch.Tensor) -> Any:
    return self.other(torch.tanh(self.linear(x)))


def several(self: Block, x: torch.Tensor, mask: torch.Tensor, nothing: None, skip: torch.Tensor) -> Any:
    assert nothing is None and mask.dtype == torch.int64
    h = torch.tanh(self.linear(x)) * mask
    return h, mask, None, h * 2


def twofold(self: Block, x: torch.Tensor) -> torch.Tensor:
    first, second = TWOFOLD(x, self.linear.weight)
    return torch.cat([first[:, :4], second], 1)


def second_of_two(self: Block, x: torch.Tensor) -> torch.Tensor:
    _, second = TWOFOLD(x, self.linear.weight)
    return torch.cat([second, x[:, :4]], 1)


def used_twice(self: Block, x: torch.Tensor) -> Any:
    return self.linear(torch.tanh(self.linear(x)))


def half(self: Block, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return torch.relu(self.linear(x)).float()


OUTSIDE = torch.full((DIM,), 0.5, requires_grad=True)


def loss_of_dict(output: dict[str, torch.Tensor], target: torch.Tensor) -> torch.Tensor:
    return mse_loss(output["y"], target) + output["z"].mean()


@dataclass
class Case:
    blocks: Callable[[], list[nn.Module]]
    loss: Callable[..., torch.Tensor] = mse_loss
    warns: str | None = None
    """Why a stage cannot split its backward."""
    options: dict[str, Any] = field(default_factory=dict)


def thrice(function: Callable[..., Any]) -> Callable[[], list[nn.Module]]:
    return lambda: [Block(function) for _ in range(3)]


CASES = {
    "several layers": Case(
        lambda: [
            nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.LayerNorm(DIM), nn.Linear(DIM, DIM))
            for _ in range(4)
        ]
    ),
    "one stage": Case(lambda: [Block(deep)]),
    "ints, None and values that the last stage does not use": Case(
        lambda: [
            Block(lambda self, x: (self.linear(x), torch.arange(DIM) % 2, None, x * self.other.weight[0])),
            Block(several),
            Block(lambda self, x, mask, nothing, skip: self.linear(x) * mask),
        ]
    ),
    "an output that is not used, with a graph of its own": Case(
        lambda: [
            Block(lambda self, x: (self.linear(x), self.other(x))),
            Block(lambda self, x, y: (self.linear(x), self.other(y))),
            Block(lambda self, x, y: self.linear(x)),
        ]
    ),
    "inputs handed on": Case(
        lambda: [
            Block(lambda self, x: (x, self.linear(x))),
            Block(lambda self, x, y: (x, y, y, self.linear(y))),
            Block(lambda self, x, *y: self.linear(x + y[0] + 2 * y[1] + y[2])),
        ]
    ),
    "outputs that are views": Case(
        thrice(lambda self, x: self.linear(x).view(-1, 2, 4).transpose(1, 2).reshape(-1, DIM)[:])
    ),
    "a loss that is a view": Case(
        thrice(deep), loss=lambda output, target: ((output - target) ** 2).mean().view(1)[0]
    ),
    "a dict as the output": Case(
        lambda: [Block(deep), Block(lambda self, x: {"y": self.linear(x), "z": self.other(x)})],
        loss=loss_of_dict,
    ),
    "a weight used twice": Case(thrice(used_twice)),
    "a weight split before it is used": Case(
        thrice(lambda self, x: torch.cat([torch.tanh(x) @ part.T for part in self.linear.weight.chunk(2)], 1))
    ),
    "a node with two outputs": Case(thrice(twofold)),
    "the second output of a node": Case(thrice(second_of_two)),
    "checkpoints": Case(thrice(lambda self, x: checkpoint(deep, self, x, use_reentrant=False))),
    "reentrant checkpoints": Case(
        lambda: [Block(deep), Block(lambda self, x: checkpoint(deep, self, x, use_reentrant=True))],
        warns="checkpoint",
    ),
    "autocast": Case(thrice(half)),
    "batch norm": Case(
        lambda: [nn.Sequential(nn.Linear(DIM, DIM), nn.BatchNorm1d(DIM)) for _ in range(3)]
    ),
    "a frozen first stage": Case(lambda: [Block(deep, frozen=True), Block(deep), Block(deep)]),
    "a frozen stage between": Case(lambda: [Block(deep), Block(deep, frozen=True), Block(deep)]),
    "a frozen last stage": Case(lambda: [Block(deep), Block(deep), Block(deep, frozen=True)]),
    "all frozen": Case(lambda: [Block(deep, frozen=True) for _ in range(2)]),
    "an output of weights alone": Case(
        lambda: [
            Block(deep),
            Block(lambda self, x: (self.linear(x), torch.tanh(self.other.bias))),
            Block(lambda self, x, bias: self.linear(x) + bias),
        ],
        warns="does not depend on its inputs",
    ),
    "a tensor with a gradient from elsewhere": Case(
        lambda: [Block(deep), Block(lambda self, x: self.linear(x) * OUTSIDE)],
        warns="neither an input nor a parameter",
    ),
    "a weight backward of one's own": Case(thrice(deep), options={"dw_builder": lambda: lambda: None}),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("split", [False, True], ids=["B", "IW"])
@pytest.mark.parametrize("name", CASES)
def test_any_order_gives_the_gradients_of_the_model(name: str, split: bool, seed: int) -> None:
    case = CASES[name]
    torch.manual_seed(seed)
    original = case.blocks()
    for in_order in (True, False):
        blocks, plain = copy.deepcopy(original), copy.deepcopy(original)
        runners = runners_of(blocks, case.loss, **case.options)
        overtakings = 0
        for i in range(2):
            step = chunks(seed + i, 5, 18)
            outputs, losses = unpipelined(plain, case.loss, step)
            expected, OUTSIDE.grad = [*gradients(plain), OUTSIDE.grad], None
            if split and case.warns and i == 0:
                with pytest.warns(UserWarning, match=case.warns):
                    overtakings += run(runners, step, seed + i, split, in_order)
            else:
                overtakings += run(runners, step, seed + i, split, in_order)
            found, OUTSIDE.grad = [*gradients(blocks), OUTSIDE.grad], None
            agree(found, expected, in_order)
            for k in range(5):
                assert same(runners[-1].outputs[k], outputs[k])
                assert torch.equal(runners[-1].losses[k], losses[k]) and runners[-1].losses[k].grad_fn is None
            if in_order:
                assert all(map(torch.equal, buffers(blocks), buffers(plain)))
            for module in (*blocks, *plain):
                module.zero_grad()
            for runner in runners:
                runner.clear()
        assert (overtakings == 0) == in_order


@pytest.mark.parametrize("split", [False, True], ids=["B", "IW"])
def test_random_numbers_are_those_of_the_model(split: bool) -> None:
    original = [nn.Sequential(nn.Linear(DIM, DIM), nn.Dropout(0.3)) for _ in range(3)]
    step = chunks(1, 4, 12)
    blocks, plain = copy.deepcopy(original), copy.deepcopy(original)
    torch.manual_seed(7)
    unpipelined(plain[:1], mse_loss, step)
    state = torch.get_rng_state()
    torch.manual_seed(7)
    run(runners_of(blocks[:1], mse_loss), step, 0, split, in_order=True)
    assert torch.equal(torch.get_rng_state(), state)

    def seed_for(s: int, k: int) -> None:
        torch.manual_seed(1000 * s + k)

    for in_order in (True, False):
        blocks, plain = copy.deepcopy(original), copy.deepcopy(original)
        outputs, _ = unpipelined(plain, mse_loss, step, seed_for)
        runners = runners_of(blocks, mse_loss)
        run(runners, step, 3, split, in_order, seed_for)
        assert all(torch.equal(runners[-1].outputs[k], outputs[k]) for k in range(4))
        agree(gradients(blocks), gradients(plain), in_order)


@pytest.mark.parametrize("split", [False, True], ids=["B", "IW"])
def test_autocast_around_the_step_holds_in_all_tasks(split: bool) -> None:
    original = thrice(used_twice)()
    step = chunks(3, 4, 12)
    for in_order in (True, False):
        blocks, plain = copy.deepcopy(original), copy.deepcopy(original)
        runners = runners_of(blocks, mse_loss)
        with torch.autocast("cpu", torch.bfloat16):
            outputs, _ = unpipelined(plain, mse_loss, step)
            run(runners, step, 5, split, in_order)
        assert runners[-1].outputs[0].dtype == torch.bfloat16
        assert all(torch.equal(runners[-1].outputs[k], outputs[k]) for k in range(4))
        agree(gradients(blocks), gradients(plain), in_order)


@pytest.mark.parametrize("split", [False, True], ids=["B", "IW"])
def test_keyword_arguments_reach_each_stage_and_get_gradients(split: bool) -> None:
    original = thrice(lambda self, x, scale, offset=0: self.linear(x) * scale + offset)()
    step = chunks(2, 4, 10)
    scales = [torch.full((DIM,), k + 1.0, requires_grad=True) for k in range(4)]
    step.kwargs = [{"scale": scale, "offset": torch.tensor(k)} for k, scale in enumerate(scales)]
    blocks, plain = copy.deepcopy(original), copy.deepcopy(original)
    unpipelined(plain, mse_loss, step)
    expected = [scale.grad for scale in scales]
    for scale in scales:
        scale.grad = None
    with pytest.warns(UserWarning, match="neither an input nor") if split else nullcontext():
        run(runners_of(blocks, mse_loss), step, 4, split, in_order=False)
    agree(gradients(blocks), gradients(plain), exactly=False)
    agree([scale.grad for scale in scales], expected, exactly=False)


@pytest.mark.parametrize("split", [False, True], ids=["B", "IW"])
def test_shapes_change_between_steps_and_microbatches(split: bool) -> None:
    torch.manual_seed(0)
    original = thrice(deep)()
    runners = runners_of(blocks := copy.deepcopy(original), mse_loss)
    for i, shapes in enumerate([[(2, 3), (2, 5), (1, 1)], [(4, 2)], [(1, 7), (3, 1), (2, 2), (5, 2)]]):
        x, y = ([torch.randn(*shape, DIM) for shape in shapes] for _ in range(2))
        step = Step(x, y)
        plain = copy.deepcopy(original)
        unpipelined(plain, mse_loss, step)
        run(runners, step, i, split, in_order=True)
        agree(gradients(blocks), gradients(plain), exactly=True)
        for runner, block in zip(runners, blocks, strict=True):
            runner.clear()
            block.zero_grad()


def test_a_compiled_stage_runs_its_backward_as_one_piece() -> None:
    torch.manual_seed(0)
    original = thrice(deep)()
    step = chunks(3, 3, 9)
    unpipelined(plain := copy.deepcopy(original), mse_loss, step)
    for split in (False, True):
        blocks = copy.deepcopy(original)
        middle: Any = torch.compile(blocks[1], backend="aot_eager")
        with pytest.warns(UserWarning, match="stage 1 .* compiled") if split else nullcontext():
            run(runners_of([blocks[0], middle, blocks[2]], mse_loss), step, 1, split, in_order=True)
        agree(gradients(blocks), gradients(plain), exactly=True)


def test_the_weight_backward_of_dw_builder_runs_in_w() -> None:
    calls: list[str] = []

    def build() -> Callable[[], None]:
        calls.append("built")
        return lambda: calls.append("run")

    (runner,) = runners_of([Block(deep)], mse_loss, dw_builder=build)
    x = torch.ones(1, DIM)
    runner.forward(0, (x,), {}, x)
    runner.backward(0)
    assert calls == ["built", "run"]
    runner.forward(1, (x,), {}, x)
    runner.backward_input(1)
    assert calls == ["built", "run", "built"]
    runner.backward_weight(1)
    assert calls == ["built", "run", "built", "run"]


def test_nothing_is_copied() -> None:
    seen: list[torch.Tensor] = []

    def see(self: Block, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.linear(x)
        seen.extend([x, output])
        return output

    first, last = runners_of(thrice(see)()[:2], mse_loss)
    x = torch.ones(1, DIM)
    ((value, wanted),) = first.forward(0, (x,))
    assert wanted and value.data_ptr() == seen[1].data_ptr() and not value.requires_grad
    last.forward(0, [(value, wanted)], target=x)
    assert seen[2] is value


def test_loss_arguments_and_outputs_that_are_not_kept() -> None:
    def loss(output: torch.Tensor, target: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
        return mse_loss(output, target) * factor

    (runner,) = runners_of([Block(deep)], loss)
    runner.keep_outputs = False
    x = torch.ones(1, DIM)
    runner.forward(0, (x,), None, x)
    runner.forward(1, (x,), None, x, {"factor": 2.0})
    assert runner.outputs == {} and torch.equal(runner.losses[1], 2 * runner.losses[0])


def test_evaluation_keeps_nothing_and_wants_no_gradient() -> None:
    first, last = runners = runners_of([Block(deep), Block(deep)], mse_loss)
    for runner in runners:
        runner.stage.has_backward = False
    x = torch.ones(1, DIM)
    with torch.no_grad():
        before_step(runners)
    for gradients_on in (True, False):
        with torch.set_grad_enabled(gradients_on):
            values = first.forward(0, (x,))
            assert [wanted for _, wanted in values] == [False]
            last.forward(0, values, target=x)
            last.forward(1, values)
    after_step(runners, 1)
    assert first.kept == last.kept == 0
    assert last.outputs[0].grad_fn is None and list(last.losses) == [0] and last.losses[0].grad_fn is None


def test_errors_pass_and_a_failed_step_can_be_cleared() -> None:
    def fails(self: Block, x: torch.Tensor) -> Any:
        if x.shape[0] == 2:
            raise ZeroDivisionError("two rows")
        return self.linear(x)

    (runner,) = runners_of([Block(fails)], mse_loss)
    runner.forward(0, (torch.ones(1, DIM),), target=torch.ones(1, DIM))
    with pytest.raises(ZeroDivisionError, match="two rows"):
        runner.forward(1, (torch.ones(2, DIM),), target=torch.ones(2, DIM))
    assert runner.kept == 1
    runner.clear()
    assert runner.kept == 0 and not runner.outputs and not runner.losses
    with torch.no_grad(), pytest.raises(RuntimeError, match="requires gradients to be enabled"):
        before_step([runner])


def test_what_cannot_be_sent_or_trained_is_refused() -> None:
    first, last = runners_of([Block(lambda self, x: {"x": x}), Block(deep)], mse_loss)
    with pytest.raises(ripeline.Error, match="stage 0 returned a dict"):
        first.forward(0, (torch.ones(1, DIM),))
    last.loss_fn = None
    with pytest.raises(ripeline.Error, match="stage 1 is the last: its backward needs a loss function"):
        last.forward(0, [(torch.ones(1, DIM), True)])


def test_tasks_have_pytorchs_names_in_a_profile() -> None:
    (runner,) = runners_of([Block(deep)], mse_loss)
    x = torch.ones(1, DIM)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        runner.forward(0, (x,), target=x)
        runner.backward(0)
        runner.forward(1, (x,), target=x)
        runner.backward_input(1)
        runner.backward_weight(1)
    names = {event.key for event in profile.key_averages()}
    assert {"PP:0F0", "PP:0B0", "PP:0F1", "PP:0I1", "PP:0W1"} <= names


@pytest.mark.skipif(_pytorch.VERSION < (2, 14), reason="PyTorch 2.14 has forward contexts")
def test_a_forward_context_of_the_stage_is_entered() -> None:
    (runner,) = runners_of([Block(deep)], mse_loss)
    entered: list[Any] = []

    @contextmanager
    def enter(info: Any) -> Iterator[None]:
        entered.append(info)
        yield

    stage: Any = runner.stage
    stage.register_forward_context(enter)
    runner.forward(3, (torch.ones(1, DIM),), target=torch.ones(1, DIM))
    assert [(info.stage_index, info.microbatch_index) for info in entered] == [(0, 3)]


def test_versions_of_pytorch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _pytorch.check_version("2.11.0+cu130") == (2, 11)
        assert _pytorch.check_version("2.15.3") == (2, 15)
    with pytest.raises(ripeline.Error, match=re.escape("supports PyTorch 2.11 to 2.15; this is 2.9.1")):
        _pytorch.check_version("2.9.1")
    with pytest.warns(UserWarning, match=re.escape("tested with PyTorch 2.11 to 2.15; this is 2.16.0")):
        _pytorch.check_version("2.16.0a0+git1")


# The replica of process 1 takes its microbatches in other orders than that of process 0.
REPLICAS = 2
KINDS = ["DDP, B", "FSDP, B", "FSDP, IW"]


def replica_step(replica: int, i: int) -> Step:
    return chunks(10 * i + replica, 4, 14)


def depends_on_microbatch(self: Block, x: torch.Tensor) -> Any:
    first, second = (self.linear, self.other) if len(x) == 4 else (self.other, self.linear)
    return second(torch.tanh(first(x)))


def replica_blocks() -> list[Block]:
    torch.manual_seed(0)
    return [Block(depends_on_microbatch), Block(deep)]


def replica(rank: int, folder: Path) -> None:
    """One process with the two stages of a pipeline; saves the gradients of two steps of each kind."""
    torch.set_num_threads(1)
    join(folder / "store", rank, REPLICAS)
    alone = [torch.distributed.new_group([i]) for i in range(REPLICAS)][rank]
    mesh = init_device_mesh("cpu", (REPLICAS,))
    results = {}
    warnings.simplefilter("error", UserWarning)
    for kind in KINDS:
        blocks = replica_blocks()
        wrapped: list[nn.Module] = [*blocks]
        if kind.startswith("DDP"):
            wrapped = [nn.parallel.DistributedDataParallel(block) for block in blocks]
        else:
            for block in blocks:
                for part in (block.linear, block.other, block):
                    fully_shard(part, mesh=mesh)
        runners = runners_of(wrapped, mse_loss, group=alone)
        for i in range(2):
            run(runners, replica_step(rank, i), 100 * rank + i, kind.endswith("IW"), in_order=False)
            grads = [grad for grad in gradients(wrapped) if grad is not None]
            results[kind, i] = [g.full_tensor() if isinstance(g, DTensor) else g.clone() for g in grads]
            for runner in runners:
                runner.clear()
            for module in wrapped:
                module.zero_grad()
        if kind.startswith("FSDP"):
            for runner in runners:
                runner.stage.has_backward = False
            before_step(runners)
            runners[0].forward(0, (torch.ones(1, DIM),))
            after_step(runners)
            assert all(isinstance(parameter, DTensor) for parameter in wrapped[0].parameters())
    torch.save(results, folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_replicas_in_different_orders_reduce_their_gradients(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=replica, args=(rank, tmp_path)) for rank in range(REPLICAS)]
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.join(timeout=240)
        assert [process.exitcode for process in processes] == [0] * REPLICAS
    finally:
        for process in processes:
            process.kill()
    for i in range(2):
        expected: list[torch.Tensor] = []
        for rank in range(REPLICAS):
            blocks = replica_blocks()
            unpipelined(blocks, mse_loss, replica_step(rank, i))
            mine = [grad for grad in gradients(blocks) if grad is not None]
            zeros = [torch.zeros_like(grad) for grad in mine]
            expected = [a + b / REPLICAS for a, b in zip(expected or zeros, mine, strict=True)]
        for rank in range(REPLICAS):
            found = torch.load(tmp_path / f"{rank}.pt")
            for kind in KINDS:
                agree(found[kind, i], [*expected], exactly=False)


def test_what_replicas_could_not_do_in_any_order_is_refused() -> None:
    x = torch.ones(4, DIM)
    (ddp,) = runners_of([nn.parallel.DistributedDataParallel(Block(deep))], mse_loss)
    ddp.forward(0, (x,), target=x)
    with pytest.raises(ripeline.Error, match="stage 0 is in DistributedDataParallel"):
        ddp.backward_input(0)
    normed = [nn.parallel.DistributedDataParallel(nn.BatchNorm1d(DIM)) for _ in range(2)]
    with pytest.raises(ripeline.Error, match="pass broadcast_buffers=False"):
        before_step(runners_of(normed, mse_loss))
    part = Block(deep)
    fully_shard(part.linear, mesh=init_device_mesh("cpu", (1,)))
    with pytest.raises(ripeline.Error, match="only parts of its module are sharded"):
        before_step(runners_of([part], mse_loss))
