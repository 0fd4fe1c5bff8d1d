"""`examples/python/train_gpt.py` under torchrun: it trains, and its check finds a wrong gradient."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HANGS, SOURCE

pytest.importorskip("torch")

EXAMPLE = SOURCE / "examples" / "python" / "train_gpt.py"
SECONDS = 240

# It refuses the program of the file mine.ripe beside it, it trains, and it trains once more with gradients
# of the last stage that grow by a thousandth.
THRICE = f"""\
import sys
sys.path.insert(0, {str(EXAMPLE.parent)!r})
import train_gpt
train_gpt.dist.destroy_process_group = lambda: None
trains = sys.argv[1:]
sys.argv[1:] = ["--schedule", __file__.replace("thrice.py", "mine.ripe")]
try:
    train_gpt.main()
except train_gpt.ripeline.Error as error:
    print("refused:", error, flush=True)
train_gpt.dist.init_process_group = lambda *_: None
sys.argv[1:] = trains
if train_gpt.main() != 0:
    raise SystemExit("a gradient is wrong")
right = train_gpt.ripeline.torch.Schedule.step
def wrong(schedule, *args, **kwargs):
    right(schedule, *args, **kwargs)
    if schedule._stage.is_last:
        schedule._stage.submod[-1].weight.grad *= 1.001
train_gpt.ripeline.torch.Schedule.step = wrong
sys.argv[1:] = ["--steps", "2", "--check"]
raise SystemExit(train_gpt.main())
"""


def torchrun(processes: int, script: Path, *arguments: object) -> tuple[int, str]:
    """The exit code, and what the processes printed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    ended = subprocess.run(
        [*command, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return ended.returncode, ended.stdout


def losses_in(output: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"^step +\d+  loss (\S+)", output, re.MULTILINE)]


def test_two_processes_learn_and_the_check_finds_a_wrong_gradient(tmp_path: Path) -> None:
    (tmp_path / "mine.ripe").write_text(HANGS)
    script = tmp_path / "thrice.py"
    script.write_text(THRICE)
    code, output = torchrun(2, script, "--steps", 8, "--microbatches", 5, "--check")
    assert code == 1, output
    assert output.count("refused: this program is not proved, so it cannot train") == 2, output
    losses = losses_in(output)
    assert len(losses) == 10 and losses[7] < losses[0] - 1, output
    assert "8 steps, all gradients right\n" in output
    assert "2 steps, 2 of them with wrong gradients" in output


def test_four_processes_with_a_v_and_split_backwards_are_exact() -> None:
    code, output = torchrun(4, EXAMPLE, "--schedule", "zb_v", "--steps", 2, "--check", "--exact")
    assert code == 0, output
    assert len(losses_in(output)) == 2
    assert output.count("difference of a gradient 0.0e+00 (allowed: 0)") == 2, output
