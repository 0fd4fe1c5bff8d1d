"""Processes that run the ranks of a pipeline, and live for many cases.

`Ranks(4).run(function, *args)` calls `function(rank, *args)` in each of them and returns the
results by rank. The function must be importable. A rank that raises makes run() raise `RankFailed`
with the tracebacks; ranks that do not answer in time are killed.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any


class RankFailed(Exception):
    """Some ranks raised; `tracebacks` has theirs, by rank."""

    def __init__(self, tracebacks: dict[int, str]) -> None:
        super().__init__("\n".join(f"rank {r}: {text}" for r, text in sorted(tracebacks.items())))
        self.tracebacks = tracebacks


def serve(rank: int, ranks: int, folder: str, pipe: Connection) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=ranks)
    while True:
        try:
            call = pipe.recv()
        except EOFError:
            return
        function, args = call
        try:
            pipe.send((True, function(rank, *args)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))


class Ranks:
    """`ranks` processes in a group of torch.distributed over Gloo."""

    def __init__(self, ranks: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ranks-")
        # A server that has imported PyTorch forks the processes, which takes a tenth of the time.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["pytest", "torch.distributed.pipelining", "ripeline.torch"])
        self.pipes: list[Connection] = []
        self.processes = []
        for rank in range(ranks):
            mine, theirs = context.Pipe()
            process = context.Process(
                target=serve, args=(rank, ranks, self._folder.name, theirs), daemon=True
            )
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)

    def start(self, function: Callable[..., Any], *args: Any) -> None:
        for pipe in self.pipes:
            pipe.send((function, args))

    def results(self, seconds: float = 60) -> list[Any]:
        """What the ranks return; an EOFError for one that was killed."""
        deadline = time.monotonic() + seconds
        results: list[Any] = []
        tracebacks = {}
        for rank, pipe in enumerate(self.pipes):
            if not pipe.poll(max(0, deadline - time.monotonic())):
                self.kill()
                raise TimeoutError(f"rank {rank} has not answered in {seconds:g} s")
            try:
                done, value = pipe.recv()
            except EOFError as error:
                done, value = True, error
            results.append(value)
            if not done:
                tracebacks[rank] = value
        if tracebacks:
            raise RankFailed(tracebacks)
        return results

    def run(self, function: Callable[..., Any], *args: Any, seconds: float = 60) -> list[Any]:
        self.start(function, *args)
        return self.results(seconds)

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()
        self._folder.cleanup()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.kill()
