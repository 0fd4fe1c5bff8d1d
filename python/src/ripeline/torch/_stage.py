"""A stage of PyTorch whose microbatches may run in any order: its tasks, without messages between ranks."""

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
from ripeline.torch._pytorch import Gradients, Stage

# The value of a message, and whether its producer wants a gradient for it.
Value = tuple[Any, bool]


class _Kept:
    """What a microbatch keeps from its forward until its last backward."""

    __slots__ = ("finish", "inputs", "roots")

    def __init__(self, inputs: list[torch.Tensor | None], roots: list[torch.Tensor | None]) -> None:
        # For each positional input the leaf that gets a gradient, or None.
        self.inputs = inputs
        # For each output the tensor that gets a gradient, or None; at the last stage the loss, or None.
        self.roots = roots
        # The weight backward, once the input backward has run.
        self.finish: Callable[[bool], object] | None = None


class StageRunner:
    """Runs the tasks of one stage, for any microbatch in any order.

    Stages exchange pairs: a tensor or any other object, and whether its producer wants a gradient for it. A
    tensor that is received belongs to the runner, which makes it a leaf in place if a gradient is wanted.
    Errors of the stage's module and of the loss function pass through as they are. While `stage.has_backward`
    is False, forwards keep nothing for a backward. One thread uses a runner.
    """

    def __init__(self, stage: Stage, loss_fn: Callable[..., torch.Tensor] | None = None) -> None:
        self.stage = stage
        self.loss_fn = loss_fn
        """Computes the loss of a microbatch at the last stage, from its output and its target."""
        self.keep_outputs = True
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
        """Drops everything of a step, which may have failed."""
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
        In evaluation there is a loss only if there is a target.
        """
        if not _pytorch.profiling():
            return self._forward(mb, args, kwargs, target, loss_kwargs)
        with record_function(f"PP:{self.stage.stage_index}F{mb}"):
            return self._forward(mb, args, kwargs, target, loss_kwargs)

    def backward(self, mb: int, grads: Gradients = (), last: bool = False) -> Gradients:
        """Runs the whole backward; returns a gradient or None for each received value.

        `grads` has a gradient or None for each value that the forward returned. `last` says that no other
        task of this stage follows in the step: DistributedDataParallel then reduces the gradients.
        """
        if not _pytorch.profiling():
            return self._backward(mb, grads, last)
        with record_function(f"PP:{self.stage.stage_index}B{mb}"):
            return self._backward(mb, grads, last)

    def backward_input(self, mb: int, grads: Gradients = (), last: bool = False) -> Gradients:
        """Runs the backward for the inputs alone; takes and returns what `backward()` does.

        If no input gets a gradient, `backward_weight()` runs the whole backward. If PyTorch cannot split the
        backward, it runs as a whole here, with a warning. Raises Error for DistributedDataParallel.
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
            self._finish_forward(mb, inputs, output, target, loss_kwargs or {})
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
        inputs: list[torch.Tensor | None],
        output: Any,
        target: Any,
        loss_kwargs: Mapping[str, Any],
    ) -> None:
        """The end of a forward of the last stage."""
        train = self.stage.has_backward
        if train and self.loss_fn is None:
            raise Error(f"stage {self.stage.stage_index} is the last: its backward needs a loss function")
        if self.keep_outputs:
            self.outputs[mb] = output
        if self.loss_fn is not None and (train or target is not None):
            self.losses[mb] = self.loss_fn(output, target, **loss_kwargs)
        if train:
            loss = self.losses[mb]
            self._kept[mb] = _Kept(inputs, [loss if loss.requires_grad else None])
        else:
            self._detach(mb)

    def _detach(self, mb: int) -> None:
        """Frees the graphs of a microbatch's output and loss, of which only the values are needed now."""
        if mb in self.outputs:
            output = self.outputs[mb]
            single = isinstance(output, torch.Tensor)
            self.outputs[mb] = output.detach() if single else tree_map(_detached, output)
        if mb in self.losses:
            self.losses[mb] = self.losses[mb].detach()

    def _start_backward(self, mb: int, grads: Gradients) -> tuple[_Kept, list[torch.Tensor], Any]:
        """What the forward kept, the outputs that get a gradient, and their gradients: None for a loss."""
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
        # PyTorch passes the loss as a tensor and outputs as a tuple, and trainers' functions may rely on it.
        outputs = roots[0] if grads is None else tuple(roots)
        return _pytorch.backward(self.stage, outputs, grads, inputs, last)

    def _backward(self, mb: int, grads: Gradients, last: bool) -> Gradients:
        kept, roots, gradients = self._start_backward(mb, grads)
        result = self._whole(kept.inputs, roots, gradients, last)
        if self.stage.dw_builder is not None:
            self.stage.dw_builder()()
        return result

    def _backward_input(self, mb: int, grads: Gradients, last: bool) -> Gradients:
        stage = self.stage
        if isinstance(stage.submod, DistributedDataParallel):
            raise Error(
                f"stage {stage.stage_index} is in DistributedDataParallel, which does not reduce the "
                "gradients of a split backward: use fully_shard, or a program with B instead of I and W"
            )
        kept, roots, gradients = self._start_backward(mb, grads)
        result: Gradients = [None] * len(kept.inputs)
        if stage.dw_builder is not None:
            result = self._whole(kept.inputs, roots, gradients, last)
            weight = stage.dw_builder()
            kept.finish = lambda last: weight()
        else:
            used, reason = self._obstacle(kept.inputs, roots)
            if not used:
                kept.finish = partial(self._whole, kept.inputs, roots, gradients)
            elif reason is not None:
                self._warn(reason)
                result = self._whole(kept.inputs, roots, gradients, last)
                # A trainer's function in the stage may wait for the last task.
                kept.finish = lambda last: _pytorch.backward_weight(stage, [], last) if last else None
            else:
                found, groups = _pytorch.backward_input(stage, roots, gradients, used, last)
                by_input = dict(zip(map(id, used), found, strict=True))
                result = [by_input.get(id(tensor)) for tensor in kept.inputs]
                kept.finish = partial(_pytorch.backward_weight, stage, groups)
        kept.inputs, kept.roots = [], []
        self._kept[mb] = kept
        return result

    def _obstacle(
        self, inputs: list[torch.Tensor | None], roots: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], str | None]:
        leaves = [tensor for tensor in inputs if tensor is not None]
        if not leaves:
            return [], None
        if self._parameters is None:
            self._parameters = frozenset(map(id, self.stage.submod.parameters()))
        return _pytorch.obstacle(roots, leaves, self._parameters)

    def _backward_weight(self, mb: int, last: bool) -> None:
        finish = self._kept.pop(mb).finish
        assert finish is not None, f"W{mb} of stage {self.stage.stage_index} before its I{mb}"
        finish(last)

    def _warn(self, reason: str) -> None:
        if reason not in self._warned:
            self._warned.add(reason)
            warnings.warn(
                f"stage {self.stage.stage_index} runs its whole backward in I and nothing in W: {reason}",
                stacklevel=4,
            )


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def before_step(runners: Sequence[StageRunner]) -> None:
    """Prepares this rank's stages, in stage order, for tasks in any order; all replicas of the rank call it.

    Parameters that fully_shard() has split are gathered, and stay so until `after_step()`: the rank needs
    memory for all parameters of its stages. FSDP's own resharding is turned off. Raises RuntimeError, as
    PyTorch does, if gradients are off and a stage trains; Error if replicas could issue collectives in
    different orders.
    """
    for runner in _in_order(runners):
        stage = runner.stage
        if stage.has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; "
                "it should not be used under torch.no_grad() context. Please call eval() instead."
            )
        if isinstance(stage.submod, FSDPModule):
            if stage.has_backward:
                _pytorch.finalize_by_hand(stage.submod)
            stage.submod.set_reshard_after_forward(False)
            for module in _sharded(stage.submod):
                module.unshard()
        elif any(True for _ in _sharded(stage.submod)):
            raise Error(
                f"stage {stage.stage_index}: only parts of its module are sharded, and PyTorch's stages "
                "reduce gradients only if the module itself is: call fully_shard() on the module, too"
            )
        elif len(runners) > 1 and _pytorch.broadcasts_buffers(stage.submod):
            raise Error(
                f"stage {stage.stage_index}: DistributedDataParallel broadcasts buffers in the first "
                "forward, and replicas may start several stages in different orders: pass broadcast_buffers=False"
            )


def after_step(runners: Sequence[StageRunner], scale: int = 1) -> None:
    """Reduces the gradients of this rank's stages over the replicas, in stage order; divides them by `scale`.

    DistributedDataParallel has reduced them in the last backward already. In evaluation, sharded parameters
    are only given back.
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
