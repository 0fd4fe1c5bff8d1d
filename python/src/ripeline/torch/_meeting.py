"""How the ranks of a pipeline find each other, and agree that they may begin."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ripeline._errors import Error
from ripeline.torch import _pytorch

_UNTIL_ALL_KNOW = 0.6
"""In seconds; a rank looks for the others' failures twice in a second."""


@dataclass(frozen=True)
class Card:
    """What a rank tells the others before they connect."""

    refused: str
    """Why this rank cannot begin; empty if it can."""
    runs: dict[str, str]
    """What must be equal on all ranks, by its name in messages."""
    host: str
    folder: str
    """Where the ranks of one host meet; empty on all ranks but rank 0."""


@dataclass(frozen=True)
class Meeting:
    """Where the ranks connect: in a folder of their host, or by their group's store."""

    folder: str
    store: _pytorch.Store
    prefix: str

    def leave(self) -> None:
        """Removes the folder of ranks that could not connect, once those that are alive know why."""
        if os.path.exists(self.folder):
            time.sleep(_UNTIL_ALL_KNOW)
            shutil.rmtree(self.folder, ignore_errors=True)


def meet(stage: Any, refused: Exception | None, runs: dict[str, str], seconds: float) -> Meeting:
    """Where the ranks of the stage's group meet; all ranks call this.

    Raises `refused` if it is not None, and `ripeline.Error` on the other ranks. Raises that on all of them
    if `runs` differs, or if one of them does not come within `seconds`.
    """
    store, prefix = _pytorch.store_of(stage.group)
    folder = tempfile.mkdtemp(prefix="ripeline-") if stage.group_rank == 0 and refused is None else ""
    own = Card(str(refused or ""), runs, _host(), folder)
    cards: list[Card] = []
    try:
        for card in _exchanged(stage, store, prefix, own, seconds):
            cards.append(card)
        if refused is not None:
            raise refused
        for other, card in enumerate(cards):
            if card.refused:
                raise Error(f"rank {other}: {card.refused}")
        for other, card in enumerate(cards):
            for what, value in card.runs.items():
                if value != (first := cards[0].runs[what]):
                    raise Error(f"rank {other} has {what} {value}, and rank 0 has {first}")
    except BaseException:
        # Each rank removes it, since rank 0 may be the one that was lost.
        if cards and cards[0].folder:
            shutil.rmtree(cards[0].folder, ignore_errors=True)
        raise
    alone = all(card.host == cards[0].host for card in cards)
    if folder and not alone:
        os.rmdir(folder)
    return Meeting(cards[0].folder if alone else "", store, f"{prefix}/run/")


def _exchanged(
    stage: Any, store: _pytorch.Store, prefix: str, own: Card, seconds: float
) -> Iterator[Card]:
    """The cards of all ranks, in their order."""
    rank = stage.group_rank
    store.set(f"{prefix}/{rank}", json.dumps(asdict(own)))
    deadline = time.monotonic() + seconds
    for other in range(stage.group_size):
        key = f"{prefix}/{other}"
        while not store.check([key]):
            if time.monotonic() > deadline:
                raise Error(
                    f"rank {rank} of the pipeline has waited {seconds:g} s for rank {other} to make"
                    " its Schedule"
                )
            time.sleep(0.005)
        yield Card(**json.loads(store.get(key)))


def _host() -> str:
    """Equal for processes that see the same files and sockets."""
    namespaces = (os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("mnt", "net"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "/".join([boot, *map(str, namespaces)])
