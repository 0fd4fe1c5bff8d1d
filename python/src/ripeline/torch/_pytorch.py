"""Everything that `ripeline.torch` uses of PyTorch beyond its documented interface, and the tested versions.

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
from torch._C._distributed_c10d import Store as Store  # for other modules, too
from torch.autograd.graph import GradientEdge, Node
from torch.distributed import ProcessGroup
from torch.distributed.distributed_c10d import _world
from torch.distributed.fsdp import FSDPModule
from torch.nn.parallel import DistributedDataParallel

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

Gradients = Sequence[torch.Tensor | None]


class Stage(Protocol):
    """A stage of PyTorch, a `PipelineStage` or what `build_stage()` makes, as far as it is used."""

    stage_index: int
    submod: torch.nn.Module
    has_backward: bool
    dw_builder: Callable[[], Callable[..., None]] | None

    @property
    def is_first(self) -> bool: ...
    @property
    def is_last(self) -> bool: ...

    # Trainers replace these two in a stage.
    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any: ...
    def backward_maybe_with_nosync(
        self, backward_type: str, bwd_kwargs: dict[str, Any], last_backward: bool = False
    ) -> tuple[Gradients, list[dict[str, Any]] | None]: ...

    def perform_reduce_grad(self, grad_scale_factor: int) -> None: ...


profiling: Callable[[], bool] = torch._C._autograd._profiler_enabled
"""Whether a profiler records this thread."""

# PyTorch has it from 2.14 on.
_stage_info: Any = getattr(torch.distributed.pipelining.stage, "PipelineStageInfo", None)


def forward(stage: Stage, mb: int, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """The output of the stage's module, called in the stage's forward context if one is registered."""
    if _stage_info is not None and getattr(stage, "_forward_contexts", None):
        within: Any = stage
        info = _stage_info(stage_index=stage.stage_index, microbatch_index=mb)
        call = stage.forward_maybe_with_nosync
        return within._call_with_forward_context(info, call, *args, **(kwargs or {}))
    if kwargs:
        return stage.forward_maybe_with_nosync(*args, **kwargs)
    return stage.forward_maybe_with_nosync(*args)


def backward(
    stage: Stage, outputs: Any, grads: Any, inputs: Sequence[torch.Tensor | None], last: bool
) -> Gradients:
    """Accumulates the gradients of all parameters; returns and clears the gradient of each input."""
    arguments = {"stage_output": outputs, "output_grads": grads, "input_values": inputs}
    return _run_backward(stage, "full", arguments, last)[0]


def _run_backward(
    stage: Stage, kind: str, arguments: dict[str, Any], last: bool
) -> tuple[Gradients, list[dict[str, Any]] | None]:
    """Raises what the backward raises, and not PyTorch's error that wraps it and lists shapes."""
    try:
        return stage.backward_maybe_with_nosync(kind, arguments, last_backward=last)
    except RuntimeError as error:
        if error.__cause__ is None or "Failed to run stage backward" not in str(error):
            raise
        cause = error.__cause__
    raise cause


def backward_input(
    stage: Stage, outputs: Sequence[torch.Tensor], grads: Any, inputs: list[torch.Tensor], last: bool
) -> tuple[Gradients, list[dict[str, Any]]]:
    """The gradient of each input, and the state for `backward_weight()`; the outputs lose their graphs.

    The outputs must depend on all inputs, and `obstacle()` must have found none.
    """
    # Before 2.15 the node of an autograd.Function dies with its graph, although the state refers to it.
    owners = [output.view_as(output).grad_fn for output in outputs] if VERSION < (2, 15) else []
    roots = tuple(_detachable(output, len(outputs) > 1) for output in outputs)
    arguments = {"stage_output": roots, "output_grads": grads, "input_values": inputs}
    gradients, found = _run_backward(stage, "input", arguments, last)
    groups = found or []
    nodes = (node for group in groups for node in group["intermediates"])
    if owners and any(isinstance(node, torch._C._FunctionBase) for node in nodes):
        groups[0]["owners"] = owners
    for tensor in inputs:
        tensor.grad = None
    return gradients, groups


def backward_weight(stage: Stage, groups: list[dict[str, Any]], last: bool) -> None:
    """Accumulates the gradients of the parameters from what `backward_input()` left."""
    if VERSION < (2, 15):
        for group in filter(_is_wrong_before_2_15, groups):
            _accumulate(group)
        groups = [group for group in groups if not _is_wrong_before_2_15(group)]
    arguments = {"stage_output": None, "param_groups": groups}
    _run_backward(stage, "weight", arguments, last)


def _is_wrong_before_2_15(group: dict[str, Any]) -> bool:
    """Whether a node may lead to another one, so that a gradient counts twice, or has not just output 0."""
    return len(group["intermediates"]) > 1 or any(
        grads[0] is None or any(grad is not None for grad in grads[1:]) for grads in group["grads"]
    )


def _accumulate(group: dict[str, Any]) -> None:
    """Accumulates the gradients of the parameters of a group as PyTorch 2.15 does.

    The outputs of each node start with the gradients that the input backward saw; what arrives from other
    nodes is dropped.
    """
    nodes, parameters = list(group["intermediates"]), list(group["params"])
    edges, seeds = [], []
    with ExitStack() as hooks:
        for node, grads in zip(nodes, group["grads"], strict=True):
            hooks.callback(node.register_prehook(lambda _, saved=grads: saved).remove)
            for i, grad in enumerate(grads):
                if grad is not None:
                    edges.append(GradientEdge(node, i))
                    seeds.append(grad)
        if not edges:
            return
        found = torch.autograd.grad(edges, [GradientEdge(node, 0) for node in parameters], seeds)
    for node, grad in zip(parameters, found, strict=True):
        parameter = node.variable
        parameter.grad = grad if parameter.grad is None else parameter.grad.add_(grad)


class _Alias(torch.autograd.Function):
    """The same tensor, in the same memory, that autograd takes for no view."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach()

    @staticmethod
    def backward(context: Any, *grads: Any) -> Any:
        return grads[0]


def _detachable(output: torch.Tensor, has_others: bool) -> torch.Tensor:
    """The output, or an alias of it if PyTorch's input backward may not detach it in place.

    It cannot detach a view; and another output may be computed from this one, whose graph then needs it.
    """
    if not has_others and not output._is_view():
        return output
    alias: Callable[[torch.Tensor], torch.Tensor] = _Alias.apply
    return alias(output)


# Nodes that compute the gradients of inputs and parameters at once.
_WHOLE = {
    "CompiledFunctionBackward": "a part of it is compiled, and a compiled backward is one piece",
    "CheckpointFunctionBackward": "checkpoint(use_reentrant=True) gives no gradients of inputs alone",
}


def obstacle(
    outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], parameters: frozenset[int]
) -> tuple[list[torch.Tensor], str | None]:
    """The inputs that the outputs depend on, and the reason why PyTorch cannot split this backward, or None.

    `parameters` has the ids of the parameters. Without the check, PyTorch raises or loses gradients.
    """
    ids = {id(tensor) for tensor in inputs}
    used: set[int] = set()
    reason = None
    for output in outputs:
        leaves, whole = _leaves(output)
        used |= leaves
        if leaves.isdisjoint(ids):
            whole = "an output with a gradient does not depend on its inputs"
        reason = reason or whole
    if not used <= ids | parameters:
        reason = reason or "a tensor with a gradient is neither an input nor a parameter of its module"
    return [tensor for tensor in inputs if id(tensor) in used], reason


def _leaves(output: torch.Tensor) -> tuple[set[int], str | None]:
    """The ids of the leaves in the graph of an output, and the reason of a node of _WHOLE in it."""
    root = output.grad_fn
    if root is None:
        return {id(output)}, None
    found: set[int] = set()
    whole = None
    seen: set[Node] = {root}
    stack = [root]
    while stack:
        node: Any = stack.pop()
        name = type(node).__name__
        if name == "AccumulateGrad":
            found.add(id(node.variable))
        elif name in _WHOLE:
            whole = _WHOLE[name]
        for function, _ in node.next_functions:
            if function is not None and function not in seen:
                seen.add(function)
                stack.append(function)
    return found, whole


def finalize_by_hand(module: FSDPModule) -> None:
    """Leaves the reduction to `perform_reduce_grad()` of the stage; before the first forward of a step."""
    if hasattr(module, "set_manual_backward_finalization"):  # from 2.15 on
        module.set_manual_backward_finalization(True)


def broadcasts_buffers(module: torch.nn.Module) -> bool:
    """Whether the module is in DistributedDataParallel and sends buffers to replicas in the next forward."""
    replicated: Any = module
    return isinstance(module, DistributedDataParallel) and bool(replicated.will_sync_module_buffers())


def replicas(module: torch.nn.Module) -> ProcessGroup | None:
    """The group in which DistributedDataParallel communicates, if the module is in it."""
    replicated: Any = module
    return replicated.process_group if isinstance(module, DistributedDataParallel) else None


class Communication:
    """Watches the process groups with several processes: each of their backends counts its operations.

    Warns of a backend that does not count.
    """

    def __init__(self) -> None:
        self._counts: list[tuple[ProcessGroup, Callable[[], int], list[int]]] = []
        self._known = 0
        self._add_groups()
        for _, count, last in self._counts:
            last[0] = count()

    def groups(self) -> list[ProcessGroup]:
        """The groups in which this process has communicated since the last call."""
        if len(_world.pg_map) != self._known:
            self._add_groups()
        found = []
        for group, count, last in self._counts:
            if (now := count()) != last[0]:
                last[0] = now
                if group not in found:
                    found.append(group)
        return found

    def _add_groups(self) -> None:
        """Adds those that are new, none of whose operations has been seen."""
        known = {id(group) for group, _, _ in self._counts}
        for group in list(_world.pg_map):
            if group.size() > 1 and id(group) not in known:
                for backend in _backends_of(group):
                    try:
                        backend._get_sequence_number_for_group()
                    except (AttributeError, RuntimeError):
                        warnings.warn(
                            f"the backend {backend.name()} does not count its operations: if a task"
                            " communicates by it, gradients may be wrong without an error",
                            stacklevel=6,
                        )
                    else:
                        self._counts.append((group, backend._get_sequence_number_for_group, [0]))
        self._known = len(_world.pg_map)


def _backends_of(group: ProcessGroup) -> list[Any]:
    """One for each kind of device, but for backends that do nothing."""
    whole: Any = group
    backends: list[Any] = []
    for device in whole._device_types:
        backend = whole._get_backend(device)
        if backend not in backends and backend.name() != "fake":
            backends.append(backend)
    return backends


def has_first_process(group: ProcessGroup | None) -> bool:
    """Whether process 0 of the job is in the group, which is that of all processes if it is None."""
    return group is None or 0 in torch.distributed.get_process_group_ranks(group)


def description_of(group: ProcessGroup) -> str:
    """A group's name, its backend, and its ranks."""
    ranks = torch.distributed.get_process_group_ranks(group)
    return f"{group.group_desc or group.group_name} ({group.name()}, ranks {', '.join(map(str, ranks))})"


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The same values without a graph, in memory that is read from its first to its last element.

    Raises TypeError for a tensor that has no such memory on the host.
    """
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise TypeError(f"a tensor on {tensor.device} with the layout {tensor.layout} cannot be sent")
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor if tensor.is_contiguous() else tensor.contiguous()


_meetings: dict[str, int] = {}


def store_of(group: torch.distributed.ProcessGroup | None) -> tuple[Store, str]:
    """The store by which the group's processes have found each other, and a prefix of keys.

    The group of all processes is None. Processes that make the same calls, in the same order for each
    group, get the same prefixes.
    """
    group = group or torch.distributed.group.WORLD
    assert group is not None
    name = group.group_name
    number = _meetings[name] = _meetings.get(name, -1) + 1
    store = torch.distributed.distributed_c10d._get_process_group_store(group)
    return store, f"ripeline/{name}/{number}"
