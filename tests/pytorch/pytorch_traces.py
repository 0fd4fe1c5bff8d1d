"""pytorch_traces.py --ripeline PROGRAM | --write FOLDER: `ripeline profile` finds the costs in what PyTorch's profiler records of
two ranks that train on this machine, without the waits between them, and refuses what has no costs. With --write, the specimens of
tests/specimens/torch_profiler are recorded anew; the numbers in their tests are then other ones.

RIPELINE_PYTORCH names a Python with PyTorch, such as setup/pytorch.sh makes; without it this one is tried. Exit status 77, skipped,
where torch.distributed.pipelining cannot be imported.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
python = os.environ.pop("RIPELINE_PYTORCH", None)
if python:
    os.execv(python, [python, *sys.argv])
try:
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, schedules
except ImportError as error:
    print(f"skipped: PyTorch cannot be imported: {error}")
    sys.exit(SKIPPED)

RANKS, MICROBATCHES, STEPS = 2, 2, 3
FORWARD, LATE = 0.02, 0.1  # seconds: what a forward takes besides its operators, and how much later rank 0 begins a step
CHUNKS = {"Interleaved1F1B": 2, "InterleavedZeroBubble": 2, "GPipe": 1, "1F1B": 1}


class Layers(torch.nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.first, self.second, self.forward_seconds = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64), forward

    def forward(self, x):
        x = torch.tanh(self.first(x))
        time.sleep(self.forward_seconds)
        return self.second(x)


def train(rank, name, folder, forward, late):
    os.chdir(folder)
    dist.init_process_group("gloo", init_method=f"file://{folder}/{name}.store", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    mine = [rank + RANKS * chunk for chunk in range(CHUNKS[name])]
    last = RANKS * CHUNKS[name] - 1
    stages = [PipelineStage(Layers(forward), stage, last + 1, torch.device("cpu")) for stage in mine]
    schedule = getattr(schedules, f"Schedule{name}")(stages if len(stages) > 1 else stages[0], MICROBATCHES,
                                                     loss_fn=torch.nn.functional.mse_loss)
    inputs = [torch.randn(8 * MICROBATCHES, 64)] if 0 in mine else []
    target = {"target": torch.randn(8 * MICROBATCHES, 64)} if last in mine else {}
    with torch.profiler.profile() as profiler:
        for _ in range(STEPS):
            time.sleep(late if rank == 0 else 0)
            schedule.step(*inputs, **target)
    profiler.export_chrome_trace(f"{name}.rank{dist.get_rank()}.json")
    dist.destroy_process_group()


def record(name, folder, forward=FORWARD, late=LATE):
    """The paths of the traces of a run, rank by rank."""
    torch.multiprocessing.spawn(train, (name, folder, forward, late), nprocs=RANKS)
    return [f"{folder}/{name}.rank{rank}.json" for rank in range(RANKS)]


def expect(holds, what):
    if not holds:
        sys.exit(what)


def check(ripeline, folder):
    def said(*arguments):
        done = subprocess.run([ripeline, *arguments], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    for name, ops, program in (("Interleaved1F1B", "FB", "interleaved_1f1b"), ("InterleavedZeroBubble", "FIW", None)):
        costs = f"{folder}/{name}.costs.json"
        status, _, notes = said("profile", *record(name, folder), "-o", costs)
        expect(status == 0, notes)
        rows = {(row["op"], row["stage"]): row["mean"] / 1e6 for row in json.loads(pathlib.Path(costs).read_text())["tasks"]}
        expect(set(rows) == {(op, stage) for op in ops for stage in range(4)}, f"{name}: {rows}")
        for (op, stage), seconds in rows.items():
            least = FORWARD if op == "F" else 0
            expect(least <= seconds < least + LATE / 4, f"{name}: {op} at stage {stage} took {seconds} s")
        if program:
            status, _, notes = said("simulate", program, "-D", f"ranks={RANKS}", "-m", str(MICROBATCHES), "--profile", costs)
            expect(status == 0, notes)
    for name in ("GPipe", "1F1B"):
        status, _, why = said("profile", *record(name, folder))
        expect(status == 2 and "ScheduleInterleaved1F1B([stage], …)" in why, f"{name}: {status} {why}")


def specimen_of(text):
    """Of a trace, the head, marks, two operators of each mark, and one event of each other kind; a line for each event."""
    root = json.loads(text)
    events = root.pop("traceEvents")
    for key in ("traceName", "ERROR"):
        root.pop(key, None)
    root["trace_id"] = "0" * 32
    marks = [e for e in events if re.match("PP:|Forward |Backward ", e["name"])]
    operators = sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: e["ts"])
    kept, kinds = {id(e) for e in marks}, set()
    for mark in marks:
        within = [e for e in operators if e["tid"] == mark["tid"] and 0 <= e["ts"] - mark["ts"] <= mark["dur"]]
        kept.update(id(e) for e in within[:2])
    for event in events:
        kind = (event["ph"], event.get("cat"), event["name"])
        if kind not in kinds and event.get("cat") != "cpu_op":
            kept.add(id(event))
        kinds.add(kind)
        if event.get("cat") in ("cpu_op", "user_annotation"):
            event["args"] = {"External id": event["args"]["External id"]}
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in root.items())
    lines = ",\n".join("  " + json.dumps(event) for event in events if id(event) in kept)
    return f'{{\n{head} "traceEvents": [\n{lines}\n ]\n}}\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ripeline")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.ripeline:
            check(arguments.ripeline, folder)
        if arguments.write:
            interleaved = record("Interleaved1F1B", folder, 0, 0)
            for path, name in (*zip(interleaved, ("interleaved.rank0", "interleaved.rank1")),
                               (record("GPipe", folder, 0, 0)[0], "gpipe.rank0")):
                (arguments.write / f"{name}.json").write_text(specimen_of(pathlib.Path(path).read_text()))


if __name__ == "__main__":
    main()
