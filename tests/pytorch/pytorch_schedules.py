"""pytorch_schedules.py --ripeline PROGRAM: PyTorch's own loader reads what `ripeline export` writes, and `ripeline check` passes what
PyTorch's own schedules are; and what docs/check.md shows trains. RIPELINE_PYTORCH names a Python with PyTorch, such as
setup/pytorch.sh makes; without it this one is tried. Exit status 77, skipped, where torch.distributed.pipelining cannot be imported.
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
python = os.environ.pop("RIPELINE_PYTORCH", None)
if python:
    os.execv(python, [python, *sys.argv])
try:
    from torch.distributed.pipelining import schedules
except ImportError as error:
    print(f"skipped: PyTorch cannot be imported: {error}")
    sys.exit(SKIPPED)

SIZES = [(2, 4), (3, 6), (4, 8), (4, 12)]  # ranks, microbatches
EXPORTED = ["1f1b", "gpipe", "eager_1f1b", "bf", "bfw", "bfw_v", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min", "interleaved_1f1b",
            "dualpipe_v", "hanayo"]
OWN = [("Interleaved1F1B", 2, "loop"), ("Interleaved1F1B", 3, "loop"), ("LoopedBFS", 2, "loop"), ("InterleavedZeroBubble", 2, "loop"),
       ("ZBVZeroBubble", 2, "v"), ("DualPipeV", 2, "v")]


class Stage:
    """What schedules read of a stage before the first step."""

    def __init__(self, index, stages, ranks):
        self.stage_index, self.num_stages, self.group_size, self.group_rank = index, stages, ranks, 0
        self.is_first, self.is_last, self.has_backward = index == 0, index == stages - 1, True
        self.device, self.group, self.submod = "cpu", None, None


def stages_of_rank_0(ranks, chunks, placement):
    stages = ranks * chunks
    indices = [0, stages - 1] if placement == "v" else [chunk * ranks for chunk in range(chunks)]
    return [Stage(index, stages, ranks) for index in indices]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def cells_of(path):
    with open(path, newline="") as file:
        return [[cell for cell in row if cell] for row in csv.reader(file)]


def loaded(stages, microbatches, path, form):
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches)
    runtime._load_csv(path, format=form)
    return runtime


def dry_run(runtime):
    """PyTorch's own simulator: each rank's actions by steps. It raises where ranks wait for each other, and knows no other actions than
    these; those of an OVERLAP_F_B it is given one after the other."""
    known = {rank: [part for a in row if a for part in (a.sub_actions or (a,)) if part.microbatch_index is not None]
             for rank, row in runtime.pipeline_order_with_comms.items()}
    stage_rank = runtime.stage_index_to_group_rank
    return schedules._simulate_comms_compute(known, stage_to_rank=lambda stage: stage_rank[stage], num_stages=len(stage_rank))


def in_one_order(row):
    """RESHARDs at one place, which PyTorch has in the order of a set, by stage; only receives can stand between them."""
    row, begin = [str(action) for action in row], 0
    for end in range(len(row) + 1):
        if end < len(row) and ("RESHARD" in row[end] or "RECV" in row[end]):
            continue
        places = [i for i in range(begin, end) if "RESHARD" in row[i]]
        for place, action in zip(places, sorted((row[i] for i in places), key=lambda a: int(a.removesuffix("RESHARD")))):
            row[place] = action
        begin = end + 1
    return row


def loads(ripeline, name, ranks, microbatches, path):
    for form in ("compute_only", "compute_comms"):
        said = run(ripeline, "export", name, "-D", f"ranks={ranks}", "-m", str(microbatches), "--form", form, "-o", path)
        placement = said.split("placement ")[1].split(";")[0]
        chunks = int(said.split(" stages")[0].split()[-1]) // ranks
        stages = stages_of_rank_0(ranks, chunks, placement)
        runtime = loaded(stages, microbatches, path, form)
        rows = runtime.pipeline_order_with_comms
        read_rows = rows if form == "compute_comms" else runtime.pipeline_order
        read = [[str(action) for action in read_rows[rank] if action] for rank in range(ranks)]
        assert read == cells_of(path), f"{name}, {form}: PyTorch reads another order"
        with_all = [in_one_order(rows[rank]) for rank in range(ranks)]
        if form == "compute_only":
            added = with_all
        assert with_all == added, f"{name}: what is written is not what PyTorch adds"
        dry_run(runtime)


def passes(ripeline, name, chunks, placement, ranks, microbatches, path):
    stages = stages_of_rank_0(ranks, chunks, placement)
    schedule = getattr(schedules, f"Schedule{name}")(stages, microbatches)
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches)
    runtime._validate_and_set_stage_mapping(schedule.pipeline_order)
    runtime._prepare_schedule_with_comms(schedule.pipeline_order)
    for form, order in (("compute_only", schedule.pipeline_order), ("compute_comms", runtime.pipeline_order_with_comms)):
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows([["" if a is None else str(a) for a in order[rank]] for rank in range(ranks)])
        run(ripeline, "check", path, "--form", form, "--placement", placement)


def trains(ripeline, folder):
    """The program of docs/check.md, as it stands there."""
    run(ripeline, "export", "1f1b", "-D", "ranks=2", "-m", "3", "-o", f"{folder}/1f1b.csv")
    script = pathlib.Path(__file__).with_name("train_exported.py").resolve()
    here = os.getcwd()
    os.chdir(folder)
    said = run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(script))
    os.chdir(here)
    assert "3 microbatches, loss" in said, said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ripeline", required=True)
    ripeline = parser.parse_args().ripeline
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "order.csv")
        for ranks, microbatches in SIZES:
            for name in EXPORTED:
                loads(ripeline, name, ranks, microbatches, path)
            for name, chunks, placement in OWN:
                passes(ripeline, name, chunks, placement, ranks, microbatches, path)
        trains(ripeline, folder)
    print(f"{len(EXPORTED)} schedules loaded by PyTorch, {len(OWN)} of PyTorch's own passed, at {len(SIZES)} sizes, in both forms")


if __name__ == "__main__":
    main()
