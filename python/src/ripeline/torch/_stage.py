"""A stage of PyTorch whose microbatches may be run in any order: what a task does, without what comes and goes between ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from torch.utils._pytree import tree_map

from ripeline._errors import Error
from ripeline.torch import _pytorch
from ripeline.torch._pytorch import Gradients, Stage, Value


class _Kept:
    """What a microbatch keeps from its forward until its last backward."""

    __slots__ = ("finish", "inputs", "roots")

    def __init__(self, inputs: list[torch.Tensor | None], roots: list[torch.Tensor | None]) -> None:
        self.inputs = inputs  # one for each positional input: the leaf that gets a gradient, or None
        self.roots = roots  # one for each output: the tensor that gets a gradient, or None; at the last stage the loss
        self.finish: Callable[[bool], object] | None = None  # the weight backward, once the input backward has run


class StageRunner:
    """Runs the tasks of one stage, for any microbatch in any order.

    A value that stages exchange is a pair: a tensor, or any other object, and whether its producer wants a gradient for
    it. A tensor that is received belongs to the runner, which makes it a leaf in place if a gradient is wanted.
    Errors of the stage's module and of the loss function pass through as they are.

    One thread uses a runner. While `stage.has_backward` is False, forwards keep nothing for a backward.
    """

    def __init__(
        self, stage: Stage, loss_fn: Callable[..., torch.Tensor] | None = None, keep_outputs: bool = True
    ) -> None:
        self.stage = stage
        self.loss_fn = loss_fn
        """Computes the loss of a microbatch at the last stage, from its output and its target."""
        self.keep_outputs = keep_outputs
        """Whether `outputs` is filled."""
        self.outputs: dict[int, Any] = {}
        """The output of the last stage for each microbatch, without its graph once the backward has run."""
        self.losses: dict[int, torch.Tensor] = {}
        """The loss of each microbatch at the last stage, without its graph once the backward has run."""
        self._kept: dict[int, _Kept] = {}
        self._parameters: frozenset[int] | None = None
        self._warned: set[str] = set()

    @property
    def kept(self) -> int:
        """How many microbatches hold what their backward needs."""
        return len(self._kept)

    def clear(self) -> None:
        """Drops everything of the step, also of a step that failed."""
        self._kept.clear()
        self.outputs.clear()
        self.losses.clear()
        self._parameters = None

    def forward(
        self,
        mb: int,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        target: Any = None,
        loss_kwargs: Mapping[str, Any] | None = None,
    ) -> Sequence[Value]:
        """Runs the module, and at the last stage the loss function; returns the values for the next stage.

        `args` are the microbatch's arguments at the first stage, and the received values at the others.
        """
        if not _pytorch.profiling():
            return self._forward(mb, args, kwargs, target, loss_kwargs)
        with record_function(f"PP:{self.stage.stage_index}F{mb}"):
            return self._forward(mb, args, kwargs, target, loss_kwargs)

    def backward(self, mb: int, grads: Gradients = (), last: bool = False) -> Gradients:
        """Runs the whole backward; returns a gradient or None for each positional input, and nothing at the first stage.

        `grads` has a gradient or None for each value that the forward returned. `last` says that no other task of this
        stage follows in the step: DistributedDataParallel then reduces the gradients.
        """
        if not _pytorch.profiling():
            return self._backward(mb, grads, last)
        with record_function(f"PP:{self.stage.stage_index}B{mb}"):
            return self._backward(mb, grads, last)

    def backward_input(self, mb: int, grads: Gradients = (), last: bool = False) -> Gradients:
        """Runs the backward for the inputs alone; takes and returns what `backward()` does.

        If no input gets a gradient, `backward_weight()` runs the whole backward. If PyTorch cannot split this stage's
        backward, it is run as a whole here, with a warning. Raises Error if the module is in DistributedDataParallel.
        """
        if not _pytorch.profiling():
            return self._backward_input(mb, grads, last)
        with record_function(f"PP:{self.stage.stage_index}I{mb}"):
            return self._backward_input(mb, grads, last)

    def backward_weight(self, mb: int, last: bool = False) -> None:
        """Runs the rest of the backward, after `backward_input()` of this microbatch."""
        if not _pytorch.profiling():
            return self._backward_weight(mb, last)
        with record_function(f"PP:{self.stage.stage_index}W{mb}"):
            return self._backward_weight(mb, last)

    def _forward(
        self,
        mb: int,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        target: Any,
        loss_kwargs: Mapping[str, Any] | None,
    ) -> Sequence[Value]:
        stage = self.stage
        train = stage.has_backward
        inputs: list[torch.Tensor | None] = []
        if not stage.is_first:
            values = []
            for value, wanted in args:
                values.append(value)
                inputs.append(value.requires_grad_() if wanted and train else None)
            args = values
        output = _pytorch.forward(stage, mb, args, kwargs)
        if stage.is_last:
            self._finish_forward(mb, output, target, loss_kwargs, inputs)
            return ()
        if isinstance(output, torch.Tensor):
            output = (output,)
        elif not isinstance(output, (tuple, list)):
            raise Error(
                f"stage {stage.stage_index} returned a {type(output).__name__}; "
                "a stage before the last returns a tensor, or a tuple or list"
            )
        roots: list[torch.Tensor | None] = []
        sent: list[Value] = []
        for value in output:
            if isinstance(value, torch.Tensor):
                wanted = value.requires_grad and train
                roots.append(value if wanted else None)
                sent.append((value.detach(), wanted))
            else:
                roots.append(None)
                sent.append((value, False))
        if train:
            self._kept[mb] = _Kept(inputs, roots)
        return sent

    def _finish_forward(
        self,
        mb: int,
        output: Any,
        target: Any,
        loss_kwargs: Mapping[str, Any] | None,
        inputs: list[torch.Tensor | None],
    ) -> None:
        """The end of a forward of the last stage."""
        train = self.stage.has_backward
        if self.keep_outputs:
            self.outputs[mb] = output
        loss = None
        if self.loss_fn is not None and (train or target is not None):
            loss = self.loss_fn(output, target, **loss_kwargs) if loss_kwargs else self.loss_fn(output, target)
            self.losses[mb] = loss
        if train:
            if loss is None:
                raise Error(f"stage {self.stage.stage_index} is the last one, and its backward needs a loss function")
            self._kept[mb] = _Kept(inputs, [loss if loss.requires_grad else None])
        else:
            self._detach(mb)

    def _detach(self, mb: int) -> None:
        """Frees the graphs of the output and the loss of a microbatch, of which only the values are still needed."""
        if mb in self.outputs:
            output = self.outputs[mb]
            self.outputs[mb] = output.detach() if isinstance(output, torch.Tensor) else tree_map(_detached, output)
        if mb in self.losses:
            self.losses[mb] = self.losses[mb].detach()

    def _start_backward(self, mb: int, grads: Gradients) -> tuple[_Kept, Any, Any]:
        """What the forward kept, the outputs that get a gradient, and their gradients (None for the loss)."""
        kept = self._kept.pop(mb)
        if self.stage.is_last:
            self._detach(mb)
            return kept, [root for root in kept.roots if root is not None], None
        roots, gradients = [], []
        for root, grad in zip(kept.roots, grads, strict=True):
            if root is not None and grad is not None:
                roots.append(root)
                gradients.append(grad)
        return kept, roots, gradients

    def _whole(
        self, inputs: list[torch.Tensor | None], roots: list[torch.Tensor], grads: Any, last: bool
    ) -> Gradients:
        if not roots:
            return [None] * len(inputs)
        # PyTorch's stages pass the loss as a tensor, and outputs as a tuple; functions that trainers put into a stage may look.
        outputs = roots[0] if grads is None else tuple(roots)
        return _pytorch.backward(self.stage, outputs, grads, inputs, last)

    def _backward(self, mb: int, grads: Gradients, last: bool) -> Gradients:
        kept, roots, grads_of_roots = self._start_backward(mb, grads)
        result = self._whole(kept.inputs, roots, grads_of_roots, last)
        if self.stage.dw_builder is not None:
            self.stage.dw_builder()()
        return result

    def _backward_input(self, mb: int, grads: Gradients, last: bool) -> Gradients:
        stage = self.stage
        if isinstance(stage.submod, DistributedDataParallel):
            raise Error(
                f"stage {stage.stage_index} is in DistributedDataParallel, which does not reduce the gradients of a split "
                "backward: use fully_shard, or a program with the op B instead of I and W"
            )
        kept, roots, grads_of_roots = self._start_backward(mb, grads)
        result: Gradients = [None] * len(kept.inputs)
        if stage.dw_builder is not None:
            result = self._whole(kept.inputs, roots, grads_of_roots, last)
            weight = stage.dw_builder()
            kept.finish = lambda last: weight()
        else:
            if self._parameters is None:
                self._parameters = frozenset(map(id, stage.submod.parameters()))
            leaves = [tensor for tensor in kept.inputs if tensor is not None]
            used, reason = _pytorch.splits(roots, leaves, self._parameters) if leaves else ([], None)
            if not used:
                kept.finish = partial(self._whole, kept.inputs, roots, grads_of_roots)
            elif reason is not None:
                self._warn(reason)
                result = self._whole(kept.inputs, roots, grads_of_roots, last)
                kept.finish = lambda last: _pytorch.backward_weight(stage, [], last) if last else None
            else:
                found, groups = _pytorch.backward_input(stage, roots, grads_of_roots, used, last)
                by_input = dict(zip(map(id, used), found, strict=True))
                result = [by_input.get(id(tensor)) for tensor in kept.inputs]
                kept.finish = partial(_pytorch.backward_weight, stage, groups)
        kept.inputs, kept.roots = [], []
        self._kept[mb] = kept
        return result

    def _backward_weight(self, mb: int, last: bool) -> None:
        finish = self._kept.pop(mb).finish
        assert finish is not None, f"W{mb} of stage {self.stage.stage_index} before its I{mb}"
        finish(last)

    def _warn(self, reason: str) -> None:
        if reason not in self._warned:
            self._warned.add(reason)
            warnings.warn(
                f"stage {self.stage.stage_index} computes the gradients of its weights with those of its inputs, in I: {reason}. "
                "Its W does nothing.",
                stacklevel=4,
            )


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def before_step(runners: Sequence[StageRunner]) -> None:
    """Prepares the stages of this rank, in the order of the stages, for tasks in any order; all ranks of a replica group call it.

    Parameters that fully_shard() has split are gathered, and stay so until `after_step()`: memory for all parameters of
    the rank's stages is needed. Raises RuntimeError, as PyTorch does, if gradients are off and a stage trains; Error if
    replicas could issue collectives in different orders.
    """
    for runner in _in_order(runners):
        stage = runner.stage
        if stage.has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under "
                "torch.no_grad() context. Please call eval() instead."
            )
        if isinstance(stage.submod, FSDPModule):
            if stage.has_backward:
                _pytorch.finalize_by_hand(stage.submod)
            stage.submod.set_reshard_after_forward(False)
            stage.submod.set_reshard_after_backward(False)
            for module in _sharded(stage.submod):
                module.unshard()
        elif any(_sharded(stage.submod)):
            raise Error(
                f"stage {stage.stage_index}: only parts of its module are sharded, and PyTorch's stages reduce the gradients of "
                "a module that is sharded as a whole: call fully_shard() on the module, too"
            )
        elif isinstance(stage.submod, DistributedDataParallel) and len(runners) > 1 and stage.submod.will_sync_module_buffers():
            raise Error(
                f"stage {stage.stage_index}: DistributedDataParallel broadcasts buffers in the first forward, which replicas "
                "with several stages may run in different orders: pass broadcast_buffers=False"
            )


def after_step(runners: Sequence[StageRunner], scale: int = 1) -> None:
    """Reduces the gradients of the stages of this rank over their replicas, in the order of the stages, and divides them by `scale`.

    DistributedDataParallel has reduced them in the last backward already. In evaluation, sharded parameters are only
    given back.
    """
    for runner in _in_order(runners):
        stage = runner.stage
        if stage.has_backward:
            stage.perform_reduce_grad(scale)
        else:
            for module in _sharded(stage.submod):
                module.reshard()


def _in_order(runners: Sequence[StageRunner]) -> list[StageRunner]:
    return sorted(runners, key=lambda runner: runner.stage.stage_index)


def _sharded(module: torch.nn.Module) -> Iterator[FSDPModule]:
    return (part for part in module.modules() if isinstance(part, FSDPModule))
