"""pytorch_loader.py LIST: what PyTorch's loader makes of tables. A line of LIST is a table: ranks, microbatches, stages of a rank, placement,
form and its CSV file. FILE.loaded gets the rows with all that PyTorch adds, or the line `refused` where PyTorch's loader or its simulator
does not take the table. Exit status 77 where torch.distributed.pipelining cannot be imported.
"""

import contextlib
import io
import pathlib
import sys

from pytorch_schedules import dry_run, loaded, schedules, stages_of_rank_0

# The grid in messages of errors. It ends in an IndexError where there are fewer steps than ranks.
schedules._format_pipeline_order = lambda *_, **__: ""


def text_of(ranks, microbatches, chunks, placement, form, path):
    try:
        runtime = loaded(stages_of_rank_0(ranks, chunks, placement), microbatches, path, form)
        with contextlib.redirect_stdout(io.StringIO()):
            dry_run(runtime)
    except (AssertionError, ValueError):
        return "refused\n"
    rows = runtime.pipeline_order_with_comms
    return "".join(",".join(str(action) for action in rows[rank]) + "\n" for rank in range(ranks))


for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    ranks, microbatches, chunks, placement, form, path = line.split(" ", 5)
    pathlib.Path(path + ".loaded").write_text(text_of(int(ranks), int(microbatches), int(chunks), placement, form, path))
