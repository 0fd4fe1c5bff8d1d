"""Training with PyTorch's pipeline stages under a proved schedule.

A trainer replaces one line. Where it had `Schedule1F1B(stage, n_microbatches, loss_fn=loss)`:

    schedule = ripeline.torch.Schedule("bf", stage, n_microbatches, loss_fn=loss)
    schedule.step(x, target=y, losses=losses)

The program is proved when the object is made; a program that can deadlock raises
`ripeline.Error` with the run that hangs. Each rank then runs whatever task is ready. PyTorch 2.11
to 2.15 are supported; only this module imports it.
"""

from ripeline._ripeline import RunFailed
from ripeline.torch._schedule import Limits, Schedule, schedule_class

RunFailed.__module__ = __name__

__all__ = ["Limits", "RunFailed", "Schedule", "schedule_class"]
