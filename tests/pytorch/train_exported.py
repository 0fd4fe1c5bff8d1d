import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
stage = PipelineStage(torch.nn.Linear(8, 8), rank, ranks, torch.device("cpu"))  # this rank's layers
schedule = _PipelineScheduleRuntime([stage], n_microbatches=3, loss_fn=torch.nn.functional.mse_loss)
schedule._load_csv("1f1b.csv", format="compute_only")  # changes `schedule`, and returns None

inputs = (torch.randn(12, 8),) if rank == 0 else ()    # 3 microbatches of 4
losses = []
schedule.step(*inputs, target=torch.randn(12, 8), losses=losses)
if rank == ranks - 1:
    print(f"{len(losses)} microbatches, loss {sum(losses) / len(losses):.2f}")
dist.destroy_process_group()
