"""Trains a small GPT in a pipeline of processes under a proved schedule, with PyTorch's stages.

    torchrun --nproc-per-node 4 examples/python/train_gpt.py --schedule bf --steps 20 --check

The model learns to predict the bytes of a text, by default of this file. Its layers are divided among the
stages of the schedule. The rank of the last stage prints the loss of each step, in nats per byte. With
--check, each rank also computes each step with the unpipelined model, and exits with 1 if a gradient differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import PipelineStage
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import ripeline
import ripeline.torch

LAYERS, WIDTH, HEADS, LENGTH = 8, 64, 4, 64


class Block(nn.Module):
    """One layer: (batch, length, WIDTH) to the same."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(self.norms[0](x)).unflatten(2, (3 * HEADS, WIDTH // HEADS)).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=1)
        attended = scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        x = x + self.mlp(self.norms[1](x))
        return x


class Embedding(nn.Module):
    """Bytes and their positions: (batch, length) to (batch, length, WIDTH)."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes, self.positions = nn.Embedding(256, WIDTH), nn.Embedding(LENGTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        embedded: Tensor = self.bytes(x) + self.positions.weight
        return embedded


def stage_module(stage: int, stages: int) -> nn.Sequential:
    """The layers of a stage. Every process makes the same ones, since the seed is the stage."""
    torch.manual_seed(stage)
    first, end = stage * LAYERS // stages, (stage + 1) * LAYERS // stages
    layers: list[nn.Module] = [Block() for _ in range(first, end)]
    if stage == 0:
        layers.insert(0, Embedding())
    if stage == stages - 1:
        layers += [nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256)]
    return nn.Sequential(*layers)


def loss_of(logits: Tensor, target: Tensor) -> Tensor:
    """The mean loss of a microbatch, in nats per byte."""
    return cross_entropy(logits.flatten(0, 1), target.flatten())


def batch_of(text: Tensor, step: int, sequences: int) -> tuple[Tensor, Tensor]:
    """The batch of a step and its targets, the bytes that follow. All ranks draw the same."""
    draw = torch.Generator().manual_seed(step)
    starts = torch.randint(len(text) - LENGTH, (sequences,), generator=draw)
    windows = torch.stack([text[start : start + LENGTH + 1] for start in starts.tolist()])
    return windows[:, :-1], windows[:, 1:]


def largest_difference(
    parts: dict[int, nn.Sequential], placement: tuple[int, ...], x: Tensor, y: Tensor, microbatches: int
) -> float:
    """The largest difference of a gradient from the unpipelined model's, over all stages of all ranks.

    A difference is relative to the parameter's largest gradient. All ranks get the same result.
    """
    whole = nn.Sequential(*(stage_module(stage, len(placement)) for stage in range(len(placement))))
    for stage, rank in enumerate(placement):
        if stage in parts:
            whole[stage].load_state_dict(parts[stage].state_dict())
        for parameter in whole[stage].parameters():
            dist.broadcast(parameter.data, src=rank)
    for inputs, target in zip(x.tensor_split(microbatches), y.tensor_split(microbatches), strict=True):
        torch.autograd.backward(loss_of(whole(inputs), target))
    worst = torch.zeros(())
    for stage, part in parts.items():
        for parameter, right in zip(part.parameters(), whole[stage].parameters(), strict=True):
            assert parameter.grad is not None and right.grad is not None
            expected = right.grad / microbatches
            difference = (parameter.grad - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
            worst = torch.maximum(worst, difference.nan_to_num(nan=torch.inf))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return worst.item()


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains a small GPT in a pipeline of processes.")
    parser.add_argument("--schedule", default="bf", metavar="NAME|FILE", help="of the library, or a program")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--text", type=Path, default=Path(__file__), metavar="FILE")
    parser.add_argument("--check", action="store_true", help="compare gradients with the unpipelined model's")
    parser.add_argument("--exact", action="store_true", help="run backwards in order; allow no difference")
    arguments = parser.parse_args()

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    program = ripeline.Program(arguments.schedule, ranks=ranks)
    placement = program.placement
    if len(placement) > LAYERS:
        parser.error(f"{len(placement)} stages are more than the {LAYERS} layers of the model")
    parts = {s: stage_module(s, len(placement)) for s, owner in enumerate(placement) if owner == rank}
    stages = [PipelineStage(part, s, len(placement), torch.device("cpu")) for s, part in parts.items()]
    schedule = ripeline.torch.Schedule(
        program,
        stages if len(stages) > 1 else stages[0],
        arguments.microbatches,
        loss_fn=loss_of,
        backwards="in order" if arguments.exact else "any",
    )
    optimizer = torch.optim.AdamW([p for part in parts.values() for p in part.parameters()], lr=1e-3)
    text = torch.tensor(list(arguments.text.read_bytes()))
    allowed = 0 if arguments.exact else 1e-5
    last, failures = placement[-1] == rank, 0
    for step in range(1, arguments.steps + 1):
        x, y = batch_of(text, step, 2 * arguments.microbatches)
        losses: list[Tensor] = []
        optimizer.zero_grad()
        schedule.step(*[x] * (0 in parts), target=y, losses=losses, return_outputs=False)
        line = f"step {step:3}  loss {torch.stack(losses).mean():.4f}" if last else ""
        if arguments.check:
            difference = largest_difference(parts, placement, x, y, arguments.microbatches)
            failures += difference > allowed
            line += f"  largest difference of a gradient {difference:.1e} (allowed: {allowed:g})"
        if last:
            print(line, flush=True)
        optimizer.step()
    if last and arguments.check:
        outcome = f"{failures} of them with wrong gradients" if failures else "all gradients right"
        print(f"{arguments.steps} steps, {outcome}", flush=True)
    schedule.close()
    dist.destroy_process_group()
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
