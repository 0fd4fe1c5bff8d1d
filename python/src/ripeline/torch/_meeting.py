"""How the ranks of a pipeline find each other, and agree that they may begin."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ripeline._errors import Error
from ripeline.torch import _pytorch


@dataclass(frozen=True)
class Card:
    """What a rank tells the others before they connect."""

    refused: str
    """Why this rank cannot begin; empty if it can."""
    host: str
    folder: str
    """Where the ranks of one host meet; empty on all ranks but rank 0."""


@dataclass(frozen=True)
class Meeting:
    """Where the ranks connect: in a folder of their host, or by their group's store."""

    folder: str
    store: torch.distributed.Store
    prefix: str


def meet(stage: Any, refused: Error | None, seconds: float) -> Meeting:
    """Where the ranks of the stage's group meet; all ranks call this.

    Raises `ripeline.Error` on all of them if one is `refused`, or if one of them does not come
    within `seconds`.
    """
    store, prefix = _pytorch.store_of(stage.group)
    rank, ranks = stage.group_rank, stage.group_size
    folder = tempfile.mkdtemp(prefix="ripeline-") if rank == 0 and refused is None else ""
    card = Card(str(refused or ""), _host(), folder)
    store.set(f"{prefix}/{rank}", json.dumps(asdict(card)))
    deadline = time.monotonic() + seconds
    cards = []
    for other in range(ranks):
        key = f"{prefix}/{other}"
        while not store.check([key]):
            if time.monotonic() > deadline:
                raise Error(
                    f"rank {rank} of the pipeline has waited {seconds:g} s for rank {other} to make"
                    " its Schedule"
                )
            time.sleep(0.005)
        cards.append(Card(**json.loads(store.get(key))))
    if refused is not None:
        raise refused
    for other, card in enumerate(cards):
        if card.refused:
            raise Error(f"rank {other}: {card.refused}")
    alone = all(card.host == cards[0].host for card in cards)
    if rank == 0 and not alone:
        os.rmdir(folder)
    return Meeting(cards[0].folder if alone else "", store, f"{prefix}/run/")


def _host() -> str:
    """Equal for processes that see the same files and sockets."""
    namespaces = (os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("mnt", "net"))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "/".join([boot, *map(str, namespaces)])
