"""pytorch_steps.py LIST: the steps of orders, one number a line, by PyTorch's own loader and simulator. A line of LIST is an order:
ranks, microbatches, stages of a rank, placement and its CSV file. Exit status 77 where torch.distributed.pipelining cannot be imported.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "pytorch"))
from pytorch_schedules import dry_run, loaded, stages_of_rank_0

for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    ranks, microbatches, chunks, placement, path = line.split(" ", 4)
    runtime = loaded(stages_of_rank_0(int(ranks), int(chunks), placement), int(microbatches), path, "compute_only")
    print(max(len(row) for row in dry_run(runtime).values()))
