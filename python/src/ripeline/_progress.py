"""The progress of long calls."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from ripeline._base import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Watch = Callable[["Progress"], object] | bool | None
    Told = Callable[[str, float, float | None, float | None], object]


class Progress(Record):
    """What a long call has done so far, as its `progress=` is told about 50 times a second.

    A callable that gets a Progress may end the call: an exception that it raises stops the work
    and leaves the call. `progress=True` shows a bar of `tqdm` where that is installed, and
    otherwise a line on stderr.

    >>> import ripeline
    >>> def at_most_a_minute(progress: ripeline.Progress) -> None:
    ...     if progress.seconds > 60:
    ...         raise TimeoutError(progress.part)
    >>> ripeline.Program("bf", ranks=4).verify(progress=at_most_a_minute).outcome
    'proved'
    """

    seconds: float
    """The time since the call began."""
    part: str
    """The part of the work that is being done, such as `deadlock`; empty before the first."""
    best: float | None
    """For a search: the best value found so far."""
    bound: float | None
    """For a search: the value that nothing is better than, as far as it is known."""

    def __init__(
        self, seconds: float, part: str, best: float | None = None, bound: float | None = None
    ) -> None:
        self._set(seconds=seconds, part=part, best=best, bound=bound)

    def __str__(self) -> str:
        found = [
            f"{name} {value:g}"
            for name, value in (("best", self.best), ("bound", self.bound))
            if value is not None
        ]
        return ", ".join([part for part in (self.part, *found) if part])


@contextmanager
def watched(progress: Watch, name: str) -> Iterator[Told | None]:
    """What a long call of this name is to call while it runs; None if it need not."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _shown(name) as show:
            yield lambda seconds, *told: show(Progress(seconds, *told))
    else:
        yield lambda seconds, *told: progress(Progress(seconds, *told))


@contextmanager
def _shown(name: str) -> Iterator[Callable[[Progress], object]]:
    """A bar that moves with time, or a line that is written over."""
    import importlib

    try:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        tqdm = None
    if tqdm is not None:
        with tqdm(desc=name, bar_format="{desc}: {elapsed}{postfix}") as bar:
            yield lambda progress: (
                bar.set_postfix_str(str(progress), refresh=False) or bar.update()
            )
        return
    written = ""

    def write(progress: Progress) -> None:
        nonlocal written
        line = f"{name}: {progress.seconds:.0f} s {progress}"
        if line != written:
            print(f"\r{line:{len(written)}}", end="", file=sys.stderr, flush=True)
            written = line

    try:
        yield write
    finally:
        if written:
            print(file=sys.stderr)
