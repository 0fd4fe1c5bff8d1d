"""Everything that `ripeline.torch` uses of PyTorch beyond its documented interface, and the versions for which that was tested.

Importing this module raises ripeline.Error if PyTorch is older than 2.11, and warns if it is newer than 2.15.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import torch
import torch.distributed.pipelining.stage
from torch.autograd.graph import Node

from ripeline._errors import Error

OLDEST, NEWEST = (2, 11), (2, 15)


def check_version(version: str) -> tuple[int, int]:
    """The major and minor number of a version of PyTorch; raises Error or warns as this module does."""
    match = re.match(r"(\d+)\.(\d+)", version)
    number = (int(match[1]), int(match[2])) if match else (0, 0)
    supported = "{}.{} to {}.{}".format(*OLDEST, *NEWEST)
    if number < OLDEST:
        raise Error(f"ripeline.torch supports PyTorch {supported}; this is {version}")
    if number > NEWEST:
        warnings.warn(f"ripeline.torch is tested with PyTorch {supported}; this is {version}", stacklevel=2)
    return number


VERSION = check_version(torch.__version__)

# The pair of a message's value and whether its producer wants a gradient for it.
Value = tuple[Any, bool]
Gradients = Sequence[torch.Tensor | None]


class Stage(Protocol):
    """A stage of PyTorch (`PipelineStage` or what `build_stage` makes) as far as it is used."""

    stage_index: int
    submod: torch.nn.Module
    has_backward: bool
    dw_builder: Callable[[], Callable[..., None]] | None

    @property
    def is_first(self) -> bool: ...
    @property
    def is_last(self) -> bool: ...
    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any: ...
    def backward_maybe_with_nosync(
        self, backward_type: str, bwd_kwargs: dict[str, Any], last_backward: bool = False
    ) -> tuple[Gradients, list[dict[str, Any]] | None]: ...
    def perform_reduce_grad(self, grad_scale_factor: int) -> None: ...


profiling: Callable[[], bool] = torch.autograd._profiler_enabled
"""Whether a profiler records this thread."""

# Of 2.14 and later.
_stage_info: Any = getattr(torch.distributed.pipelining.stage, "PipelineStageInfo", None)


def forward(stage: Stage, mb: int, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """The output of the stage's module, called in the forward context that is registered at the stage, if one is."""
    if _stage_info is not None and getattr(stage, "_forward_contexts", None):
        info = _stage_info(stage_index=stage.stage_index, microbatch_index=mb)
        call = stage._call_with_forward_context  # type: ignore[attr-defined]
        return call(info, stage.forward_maybe_with_nosync, *args, **(kwargs or {}))
    if kwargs:
        return stage.forward_maybe_with_nosync(*args, **kwargs)
    return stage.forward_maybe_with_nosync(*args)


def backward(
    stage: Stage, outputs: Any, grads: Any, inputs: Sequence[torch.Tensor | None], last: bool
) -> Gradients:
    """Accumulates the gradients of all parameters; returns and clears the gradient of each input."""
    arguments = {"stage_output": outputs, "output_grads": grads, "input_values": inputs}
    return stage.backward_maybe_with_nosync("full", arguments, last_backward=last)[0]


def backward_input(
    stage: Stage, outputs: Sequence[torch.Tensor], grads: Any, inputs: list[torch.Tensor], last: bool
) -> tuple[Gradients, list[dict[str, Any]]]:
    """The gradient of each input, and the state for `backward_weight`; `splits()` must have agreed.

    The outputs lose their graphs.
    """
    arguments = {"stage_output": tuple(map(_detachable, outputs)), "output_grads": grads, "input_values": inputs}
    gradients, groups = stage.backward_maybe_with_nosync("input", arguments, last_backward=last)
    for tensor in inputs:
        tensor.grad = None
    return gradients, groups or []


def backward_weight(stage: Stage, groups: list[dict[str, Any]], last: bool) -> None:
    """Accumulates the gradients of the parameters from what `backward_input` left."""
    with ExitStack() as hooks:
        if VERSION < (2, 15):
            for group in groups:
                _give_each_node_its_gradients(group, hooks)
        arguments = {"stage_output": None, "param_groups": groups}
        stage.backward_maybe_with_nosync("weight", arguments, last_backward=last)


def _give_each_node_its_gradients(group: dict[str, Any], hooks: ExitStack) -> None:
    """Repairs the weight backward of PyTorch 2.11, which is wrong where a node has several outputs or leads to another node.

    It starts at output 0 of each node with the sum of the node's gradients, and what arrives from another node of the
    group comes on top. A hook replaces all this by the gradients that the input backward saw, as PyTorch 2.15 does.
    """
    nodes = list(group["intermediates"])
    for i, (node, grads) in enumerate(zip(nodes, group["grads"], strict=True)):
        single = grads[0] is not None and all(grad is None for grad in grads[1:])
        if single and len(nodes) == 1:
            continue
        hook = node.register_prehook(lambda _, saved=grads: saved)
        hooks.callback(hook.remove)
        if not single:
            like = node._input_metadata[0]
            group["grads"][i] = (torch.zeros(like.shape, dtype=like.dtype, device=like.device),)


class _Alias(torch.autograd.Function):
    """The same tensor, with the same memory, that is neither a view nor a leaf for autograd."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach()

    @staticmethod
    def backward(context: Any, *grads: Any) -> Any:
        return grads[0]


def _detachable(output: torch.Tensor) -> torch.Tensor:
    """The output, or an alias if PyTorch's input backward could not detach it in place."""
    if output.grad_fn is not None and not output._is_view():
        return output
    alias: torch.Tensor = _Alias.apply(output)  # type: ignore[no-untyped-call]
    return alias


# Nodes that compute the gradients of inputs and parameters together, or call autograd themselves.
_WHOLE = {
    "CompiledFunctionBackward": "a part of it is compiled, and a compiled backward is one piece",
    "CheckpointFunctionBackward": "it uses checkpoint(use_reentrant=True), which cannot give the gradients of inputs alone",
}


def splits(
    outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], parameters: frozenset[int]
) -> tuple[list[torch.Tensor], str | None]:
    """The inputs that outputs depend on, and why PyTorch cannot compute their gradients apart from those of the parameters.

    `parameters` has their ids. The list is empty if no output depends on an input; the reason is None if PyTorch can.
    """
    ids = {id(tensor) for tensor in inputs}
    used: set[int] = set()
    apart = 0
    reason = None
    for output in outputs:
        leaves, whole = _leaves(output)
        reason = reason or whole
        if leaves.isdisjoint(ids):
            apart += 1
        used |= leaves
    if reason is None and apart:
        reason = "an output with a gradient does not depend on its inputs"
    if reason is None and not used <= (ids | parameters):
        reason = "it uses a tensor with a gradient that is neither an input nor a parameter of its module"
    return [tensor for tensor in inputs if id(tensor) in used], reason


def _leaves(output: torch.Tensor) -> tuple[set[int], str | None]:
    """The ids of the leaves in the graph of an output, and the first reason in _WHOLE that was met."""
    root = output.grad_fn
    if root is None:
        return {id(output)}, None
    found: set[int] = set()
    whole = None
    seen: set[Node] = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        name = type(node).__name__
        if name == "AccumulateGrad":
            found.add(id(node.variable))  # type: ignore[attr-defined]
        elif name in _WHOLE:
            whole = _WHOLE[name]
        for function, _ in node.next_functions:
            if function is not None and function not in seen:
                seen.add(function)
                stack.append(function)
    return found, whole


def finalize_by_hand(module: torch.distributed.fsdp.FSDPModule) -> None:
    """Leaves the reduction of gradients to `perform_reduce_grad` of the stage; before the first forward of a step."""
    if hasattr(module, "set_manual_backward_finalization"):  # 2.15
        module.set_manual_backward_finalization(True)
