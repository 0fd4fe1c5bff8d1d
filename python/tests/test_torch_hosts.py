"""Ranks that are on several hosts, as far as they can tell, connect by TCP."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ranks import Ranks  # noqa: E402
from test_torch_schedule import batch, mse, part  # noqa: E402


def train(rank: int, address: str) -> tuple[list[float], str]:
    """The losses of two steps, and the folder in which the ranks have met."""
    import os

    from torch.distributed.pipelining import PipelineStage

    import ripeline.torch
    from ripeline.torch import _meeting

    os.environ["RIPELINE_ADDRESS"] = address
    _meeting._host = lambda: f"host {rank}"
    folders = []
    meet = _meeting.meet

    def noted(*arguments: Any) -> Any:
        meeting = meet(*arguments)
        folders.append(meeting.folder)
        return meeting

    _meeting.meet = noted  # type: ignore[assignment]
    stage = PipelineStage(part(rank, 6), rank, 2, torch.device("cpu"))
    schedule = ripeline.torch.Schedule("bf", stage, 4, loss_fn=mse)
    losses: list[Any] = []
    all_losses = []
    for seed in (1, 2):
        x, y = batch(seed, 4, 6)
        schedule.step(*((x,) if rank == 0 else ()), target=y, losses=losses)
        all_losses += [loss.item() for loss in losses]
    schedule.close()
    return all_losses, folders[0]


def test_trains_by_tcp() -> None:
    with Ranks(2) as ranks:
        (_, first), (losses, second) = ranks.run(train, "127.0.0.1")
    assert (first, second) == ("", "")
    model = torch.nn.Sequential(part(0, 6), part(1, 6))
    wanted = []
    for seed in (1, 2):
        x, y = batch(seed, 4, 6)
        wanted += [
            mse(model(a), b).item()
            for a, b in zip(torch.tensor_split(x, 4), torch.tensor_split(y, 4), strict=True)
        ]
    assert losses == wanted
