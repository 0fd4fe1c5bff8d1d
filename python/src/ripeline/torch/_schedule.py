"""`Schedule`: steps of PyTorch's stages, in whatever order is ready."""

from __future__ import annotations

import os
import sys
import traceback
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.distributed import ProcessGroup
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle

from ripeline import _ripeline
from ripeline._errors import Error
from ripeline._program import Program
from ripeline._verdict import Verdict
from ripeline.torch import _meeting, _pytorch
from ripeline.torch._stage import StageRunner, after_step, before_step

_TRAINING, _EVALUATION = 0, 1

Values = list[tuple[torch.Tensor | None, bool]]
"""What stages exchange: for each value, a tensor or None, and whether it wants a gradient."""
Inputs = list[tuple[int, Values]]
"""What a task gets: the index and the values of the stage that sends some, or nothing."""
Task = Callable[[int, Inputs], Sequence[Values]]
"""Runs a microbatch; returns the values for the stage that gets some, or nothing."""


@dataclass(frozen=True)
class Limits:
    """How long a rank waits, in seconds, before it says who waits for whom and ends."""

    connect: float = 30
    """For the other ranks, when the schedule is made."""
    silence: float = 30
    """For a sign of life of another process."""
    stall: float = 600
    """While nothing happens on this rank; longer than its longest task."""


class _Own:
    """One stage of this rank: its tasks in a step."""

    def __init__(self, stage: Any) -> None:
        self.runner = StageRunner(stage)
        self.index: int = stage.stage_index
        self._left = 0
        """How many of its last backwards, or weight backwards, have yet to run."""
        self._args: list[tuple[Any, ...]] = []
        self._kwargs: list[dict[str, Any]] = []
        self._targets: list[Any] | None = None
        self._loss_kwargs: dict[str, Any] | None = None
        self._begun = False
        """Whether a forward has run in this step."""
        self._exempt: ProcessGroup | None = None

    def begin(self, batch: _Batch, loss_kwargs: dict[str, Any] | None) -> None:
        self._args, self._kwargs, self._targets = batch
        self._loss_kwargs = loss_kwargs
        self._left = len(self._args)
        self._begun = False

    def end(self) -> None:
        self._args, self._kwargs, self._targets = [], [], None

    def take_exempt(self) -> ProcessGroup | None:
        """The group in which DistributedDataParallel may communicate in the task that has run.

        It does so in the stage's first forward and last backward. In a chain these run in the same
        order of stages on all replicas: the first forward of a stage needs one of the stage before
        it, and the last backward of the stage before needs one of this stage.
        """
        group, self._exempt = self._exempt, None
        return group

    def task(self, kind: str, sends: bool) -> Task:
        """What tasks of an op of this kind do, and whether another stage gets their values."""
        if kind == "forward":
            return lambda mb, inputs: self._forward(mb, inputs, sends)
        if kind == "backward":
            return lambda mb, inputs: self._backward(mb, inputs, sends, self.runner.backward, True)
        if kind == "backward_input":
            return lambda mb, inputs: self._backward(
                mb, inputs, sends, self.runner.backward_input, False
            )
        return lambda mb, _: self._weight(mb)

    def _forward(self, mb: int, inputs: Inputs, sends: bool) -> Sequence[Values]:
        args = inputs[0][1] if inputs else self._args[mb]
        target = None if self._targets is None else self._targets[mb]
        if not self._begun:
            self._begun = True
            self._exempt = _pytorch.replicas(self.runner.stage.submod)
        given = self.runner.forward(mb, args, self._kwargs[mb], target, self._loss_kwargs)
        return [self._sendable(given)] if sends else []

    def _sendable(self, values: Sequence[tuple[Any, bool]]) -> Values:
        for value, _ in values:
            if value is not None and type(value) not in _SENT:
                raise TypeError(
                    f"stage {self.index} gives a {type(value).__name__} to the next stage: tensors"
                    " and None can be sent"
                )
        return [
            (None if value is None else _pytorch.plain(value), wanted) for value, wanted in values
        ]

    def _backward(
        self,
        mb: int,
        inputs: Inputs,
        sends: bool,
        run: Callable[[int, Sequence[torch.Tensor | None], bool], Sequence[torch.Tensor | None]],
        ends: bool,
    ) -> Sequence[Values]:
        if ends:
            self._left -= 1
            if self._left == 0:
                self._exempt = _pytorch.replicas(self.runner.stage.submod)
        given = [grad for grad, _ in inputs[0][1]] if inputs else []
        found = run(mb, given, ends and self._left == 0)
        if not sends:
            return []
        return [[(None if grad is None else _pytorch.plain(grad), False) for grad in found]]

    def _weight(self, mb: int) -> Sequence[Values]:
        self._left -= 1
        self.runner.backward_weight(mb, self._left == 0)
        return []


_SENT = (torch.Tensor, torch.nn.Parameter)
_Next = tuple[int, int, Inputs] | None
_Batch = tuple[list[tuple[Any, ...]], list[dict[str, Any]], list[Any] | None]


class Schedule:
    """Runs a proved program on PyTorch's stages: the schedule of a pipeline.

    `program` is a `ripeline.Program`, or the name of one of the library, such as "bf". `stages` is
    this rank's `PipelineStage`, or the list of its stages, and all further arguments are those of
    PyTorch's schedules. All ranks of the stages' group make the object together.

    A rank starts whatever task is ready, as the program's hint prefers. Forwards of a stage keep
    the order of microbatches, since losses and modules may count their calls; `forwards="any"`
    lets them overtake each other. Backwards may overtake, so that gradients are summed in another
    order in each step; `backwards="in order"` makes them bitwise those of the unpipelined model.

    Evaluation runs a program of its own: the forwards of `program`, proved as well.

    Tasks may communicate with other processes, as tensor parallelism does, only if the program
    commits each rank to an order; otherwise the first task that does so fails the step.

    Raises `ripeline.Error` on all ranks if the program is not proved, if its stages or ranks are
    not those of this pipeline, or if the ranks differ in what they run. `limits` says how long
    ranks wait for each other. A rank that fails makes `step()` fail on all, with the cause first.
    """

    # They are set by PyTorch's classes, and by trainers.
    _loss_fn: Callable[..., torch.Tensor] | None
    _n_microbatches: int
    _has_backward: bool
    scale_grads: bool
    _split_inputs: Callable[..., tuple[list[tuple[Any, ...]], list[dict[str, Any]]]]
    _check_inputs: Callable[..., tuple[list[tuple[Any, ...]], list[dict[str, Any]]]]
    _merge_outputs: Callable[[list[Any]], Any]

    def __new__(cls, program: Program | str, stages: Any, *_: Any, **__: Any) -> Schedule:
        if cls is Schedule:
            cls = _Multi if isinstance(stages, list | tuple) else _Single
        return super().__new__(cls)

    def __init__(
        self,
        program: Program | str,
        stages: Any,
        n_microbatches: int,
        loss_fn: Callable[..., torch.Tensor] | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        *,
        backward_requires_autograd: bool = True,
        forwards: str = "in order",
        backwards: str = "any",
        limits: Limits = Limits(),
    ) -> None:
        own = list(stages) if isinstance(stages, list | tuple) else [stages]
        options: dict[str, Any] = {
            "loss_fn": loss_fn,
            "args_chunk_spec": args_chunk_spec,
            "kwargs_chunk_spec": kwargs_chunk_spec,
            "output_merge_spec": output_merge_spec,
            "scale_grads": scale_grads,
        }
        if isinstance(self, PipelineScheduleMulti):
            PipelineScheduleMulti.__init__(
                self,
                own,
                n_microbatches,
                backward_requires_autograd=backward_requires_autograd,
                **options,
            )
        else:
            single: Any = self
            PipelineScheduleSingle.__init__(single, own[0], n_microbatches, **options)
            self._backward_requires_autograd = backward_requires_autograd
        self._own = {stage.stage_index: _Own(stage) for stage in own}
        self._failed: str | None = None
        refused: Exception | None = None
        proved: list[Verdict] = []
        runs: dict[str, str] = {}
        try:
            proved = _proved(program, own, n_microbatches, forwards, backwards)
            trained = proved[_TRAINING].program
            _ripeline.Worker.check_environment(proved[_TRAINING]._verdict)
            # Before the program, which depends on the options.
            runs = {
                "ripeline": _ripeline.version,
                "PyTorch": torch.__version__,
                "n_microbatches": str(n_microbatches),
                "forwards": forwards,
                "backwards": backwards,
                "the program": f"{trained.name} ({trained.hash})",
                **{name: os.environ.get(name, "") for name in _INSTRUMENTS},
            }
        except Exception as error:
            refused = error
        meeting = _meeting.meet(own[0], refused, runs, limits.connect)
        self.program: Program = proved[_TRAINING].program
        """The program that trains."""
        # A trace has one run: the first schedule of the pipeline to which the job's process 0 belongs.
        traces = not _TRACING and _pytorch.has_first_process(own[0].group)
        try:
            self._worker = _ripeline.Worker(
                [verdict._verdict for verdict in proved],
                own[0].group_rank,
                own[0].group_size,
                meeting.folder,
                meeting.store,
                meeting.prefix,
                os.environ.get("RIPELINE_ADDRESS", ""),
                os.environ.get("MASTER_ADDR", ""),
                traces,
                limits.connect,
                limits.silence,
                limits.stall,
            )
        except BaseException as error:
            meeting.leave()
            if isinstance(error, _ripeline.RunFailed):
                raise Error(str(error)) from None
            raise
        mapping = dict(enumerate(self.program._program.placement))
        for stage in own:
            stage.stage_index_to_group_rank = mapping
        self._tasks = [self._tasks_of(number) for number in range(len(proved))]
        self._committed = [verdict.program._program.is_committed for verdict in proved]
        _WORKERS[id(self._worker)] = self._worker
        if traces:
            _TRACING.add(id(self._worker))
        self._ends = weakref.finalize(self, _close, self._worker)

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[torch.Tensor] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        finalize_gradients: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Trains on a batch: every task of this rank's stages once, for each microbatch.

        The arguments are those of PyTorch 2.15's schedules, on every version: a whole batch, which
        is split into microbatches, or lists with an entry for each microbatch. Positional arguments
        and `arg_mbs` are for the first stage, the target is for the last. Returns the last stage's
        outputs, merged, on its rank if `return_outputs`, else None; `losses` gets the losses in the
        order of microbatches. Gradients are in the parameters' `.grad`, divided by the number of
        microbatches if the schedule has `scale_grads`; without `finalize_gradients`, gradients are
        neither reduced between replicas nor divided.
        """
        training = self._has_backward
        if training and self._backward_requires_autograd and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() computes gradients, which torch.no_grad() forbids here: call eval()"
            )
        batch = self._split(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs, losses)
        return self._run(
            training, batch, loss_kwargs, losses, return_outputs, finalize_gradients
        )

    def eval(
        self,
        *args: Any,
        target: Any = None,
        losses: list[torch.Tensor] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The forwards of a batch, without gradients; arguments and result are those of `step()`.

        Whether autograd records is the caller's choice, as with PyTorch's schedules.
        """
        batch = self._split(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs, losses)
        return self._run(False, batch, loss_kwargs, losses, return_outputs, True)

    def close(self) -> None:
        """Leaves the run. Other ranks may still end their step, and need not close theirs."""
        self._ends()
        self._failed = self._failed or "this schedule is closed"

    def _split(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        target: Any,
        arg_mbs: list[tuple[Any, ...]] | None,
        kwarg_mbs: list[dict[str, Any]] | None,
        target_mbs: list[Any] | None,
        losses: list[torch.Tensor] | None,
    ) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]], list[Any] | None]:
        """The arguments and the target of each microbatch."""
        if self._failed is not None:
            raise _ripeline.RunFailed(self._failed)
        if (args or kwargs) and (arg_mbs is not None or kwarg_mbs is not None):
            raise TypeError("a step takes a batch, or lists with an entry for each microbatch")
        if arg_mbs is None and kwarg_mbs is None:
            arg_mbs, kwarg_mbs = self._split_inputs(args, kwargs)
        if target is not None and target_mbs is None:
            target_mbs = list(torch.tensor_split(target, self._n_microbatches))
        checked_args, checked_kwargs = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        return checked_args, checked_kwargs, target_mbs

    def _run(
        self,
        training: bool,
        batch: _Batch,
        loss_kwargs: dict[str, Any] | None,
        losses: list[torch.Tensor] | None,
        return_outputs: bool,
        finalize_gradients: bool,
    ) -> Any:
        program = _TRAINING if training else _EVALUATION
        if program == len(self._tasks):
            raise Error(f"nothing can be evaluated: {_forward_pass(self.program)}")
        m = self._n_microbatches
        own = self._own.values()
        runners = [one.runner for one in own]
        for one in own:
            one.runner.clear()
            one.runner.loss_fn = self._loss_fn
            one.runner.keep_outputs = return_outputs
            one.runner.stage.has_backward = training
            one.begin(batch, loss_kwargs)
        try:
            before_step(runners)
            self._run_tasks(program, m)
            if finalize_gradients or not training:
                after_step(runners, m if self.scale_grads else 1)
            last = next((runner for runner in runners if runner.stage.is_last), None)
            if last is None:
                return None
            if losses is not None and last.losses:
                losses.clear()
                losses.extend(last.losses[mb] for mb in range(m))
            if not return_outputs:
                return None
            return self._merge_outputs([last.outputs[mb] for mb in range(m)])
        finally:
            for one in own:
                one.runner.clear()
                one.end()

    def _run_tasks(self, program: int, m: int) -> None:
        tasks, worker = self._tasks[program], self._worker
        name, mb = "", 0
        try:
            worker.begin(program, m)
            communication = None if self._committed[program] else _pytorch.Communication()
            outputs: Sequence[Values] | None = None
            while (task := cast(_Next, worker.next(outputs))) is not None:
                lane, mb, inputs = task
                name, own, run = tasks[lane]
                outputs = run(mb, inputs)
                if communication is not None:
                    _refuse(f"{name}{mb}", communication.groups(), own.take_exempt())
                name = ""
        except _ripeline.RunFailed as failed:
            self._failed = str(failed)
            raise
        except BaseException as error:
            self._failed = worker.fail(_told(f"{name}{mb}" if name else "", error))
            raise

    def _tasks_of(self, program: int) -> dict[int, tuple[str, _Own, Task]]:
        """By lane, the name of its tasks, their stage, and what they do."""
        return {
            lane: (f"{stage}{op}", self._own[stage], self._own[stage].task(kind, bool(to)))
            for lane, (op, kind, stage, to) in enumerate(self._worker.lanes(program))
            if op
        }

    def _step_microbatches(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the tasks of a step have no fixed order here: call step()")


class _Single(Schedule, PipelineScheduleSingle):
    pass


class _Multi(Schedule, PipelineScheduleMulti):
    pass


def schedule_class(program: Program | str, *, stages_per_rank: int = 1, **options: Any) -> type[Schedule]:
    """The class of schedules of one program, for trainers that take a class of PyTorch.

    Its constructor has the arguments of PyTorch's schedules: a stage if `stages_per_rank` is 1, else
    a list. It is a subclass of PipelineScheduleSingle or PipelineScheduleMulti. `options` are those
    of `Schedule`, such as `forwards="any"`.
    """
    base = _Single if stages_per_rank == 1 else _Multi

    class Bound(base):  # type: ignore[misc, valid-type]
        def __new__(cls, stages: Any, *_: Any, **__: Any) -> Bound:
            return object.__new__(cls)

        def __init__(self, stages: Any, n_microbatches: int, *arguments: Any, **named: Any) -> None:
            super().__init__(program, stages, n_microbatches, *arguments, **options, **named)

    Bound.__name__ = Bound.__qualname__ = f"Schedule_{program if isinstance(program, str) else program.name}"
    return Bound


def _proved(
    program: Program | str, stages: list[Any], microbatches: int, forwards: str, backwards: str
) -> list[Verdict]:
    """The proofs of the program that trains and, if it has a forward pass, of that.

    Raises Error if there is none, or if the stages and ranks are not the program's.
    """
    ranks = stages[0].group_size
    whole = Program(program) if isinstance(program, str) else program
    if isinstance(program, str) and whole.ranks != ranks and "ranks" in whole.params:
        whole = Program(program, ranks=ranks)
    kinds = []
    for option, value, of in (
        ("forwards", forwards, {"forward"}),
        ("backwards", backwards, {"backward", "backward input", "backward weight"}),
    ):
        if value not in ("in order", "any"):
            raise Error(f'{option} is "in order" or "any", not {value!r}')
        if value == "in order":
            kinds += sorted(of & set(whole._program.kinds))
    if kinds:
        whole = whole.sequential(*kinds)
    if whole.ranks != ranks:
        raise Error(f"the program has {whole.ranks} ranks, and the stages' group has {ranks}")
    if not whole._program.is_chain:
        raise Error(
            "PyTorch's stages are a chain, and a stage of the program takes the outputs of others than"
            " the one before it"
        )
    placement = whole._program.placement
    mine = [stage for stage, rank in enumerate(placement) if rank == stages[0].group_rank]
    given = sorted(stage.stage_index for stage in stages)
    if stages[0].num_stages != len(placement) or given != mine:
        raise Error(
            f"the program has the stages {mine} of {len(placement)} on rank {stages[0].group_rank},"
            f" and this process has made {given} of {stages[0].num_stages}"
        )
    first, last = whole.microbatches
    if microbatches < first or (last is not None and microbatches > last):
        raise Error(
            f"the program is for {first} to {'any' if last is None else last} microbatches, and"
            f" n_microbatches is {microbatches}"
        )
    evaluates = _forward_pass(whole)
    return [_proof(whole), *([evaluates] if isinstance(evaluates, Verdict) else [])]


def _forward_pass(program: Program) -> Verdict | str:
    """The proof of the program's forward pass, or why there is none."""
    try:
        verdict = program.forward_only().verify(times=False)
    except Error as error:
        return str(error)
    return verdict if verdict else f"the forward pass of this program is not proved\n{verdict}"


def _proof(program: Program) -> Verdict:
    verdict = program.verify(times=False)
    if not verdict:
        raise Error(f"this program is not proved, so it cannot train\n{verdict}")
    return verdict


def _refuse(task: str, groups: list[ProcessGroup], exempt: ProcessGroup | None) -> None:
    """Raises Error if a task has communicated in another group than the exempt one."""
    for group in groups:
        if group is not exempt:
            raise Error(
                f"{task} communicates in the process group {_pytorch.description_of(group)}, whose"
                " members may run their tasks in different orders: their tensors would be mixed up."
                " Take the communication out of the stages and the loss, or take a program with a"
                " committed order, such as 1f1b; evaluations have one if each rank has one stage"
            )


def _told(task: str, error: BaseException) -> str:
    """What the other ranks say of an exception: in a line, and then its traceback, of which the end fits."""
    line = " ".join("".join(traceback.format_exception_only(error)).split())[:300]
    trace = "".join(traceback.format_exception(error)).strip().encode(errors="replace")
    cut = b"" if len(trace) <= _LONGEST_TRACE else "…".encode()
    end = (cut + trace[-_LONGEST_TRACE:]).decode(errors="ignore")
    return f"{f'in {task}: ' if task else ''}{line}\n{end}".encode(errors="replace").decode()


_LONGEST_TRACE = 6144
"""In bytes; messages between ranks have room for 8192."""

_WORKERS: dict[int, _ripeline.Worker] = {}
"""Those that are connected."""
_TRACING: set[int] = set()
"""The ids of those whose steps RIPELINE_TRACE may record: one at most."""
_INSTRUMENTS = ("RIPELINE_TRACE", "RIPELINE_DELAY")
_LEAVES = 10.0
"""The seconds for which a rank that ends waits for the others to end theirs."""


def _close(worker: _ripeline.Worker) -> None:
    """Leaves with the other ranks; or at once if an exception ends this process, which they see."""
    _TRACING.discard(id(worker))
    if _WORKERS.pop(id(worker), None) is not None:
        worker.close(0 if hasattr(sys, "last_value") else _LEAVES)


def _forget_in_child() -> None:
    for worker in _WORKERS.values():
        worker.close_in_child()
    _WORKERS.clear()


os.register_at_fork(after_in_child=_forget_in_child)
