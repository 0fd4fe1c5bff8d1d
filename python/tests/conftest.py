"""The command line, whose output the package must repeat."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = os.environ.get("RIPELINE_PROGRAM", "ripeline")
SOURCE = Path(os.environ.get("RIPELINE_SOURCE_DIR", Path(__file__).parents[2]))

# Rank 0 has no warm-up, so that its backward comes before the forward for which rank 1 waits.
HANGS = """\
pipeline mine {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward  { cost 1;  needs F at prev;             acquires activation; }
  op B backward { cost 2;  needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  order mine on r {
    let warm = min(r, microbatches);
    F * warm;  (F B) * (microbatches - warm);  B * warm;
  }
  dispatch in order mine;
}
"""


@dataclass(frozen=True)
class Output:
    code: int
    out: str
    err: str


def command(*arguments: object, folder: Path | None = None) -> Output:
    """Runs `ripeline` and returns what it printed."""
    ended = subprocess.run(
        [PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, check=False, timeout=250
    )
    return Output(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def library() -> list[str]:
    """The names of the library's schedules."""
    return sorted(file.stem for file in (SOURCE / "spec" / "library").glob("*.ripe"))


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """A file with a program that deadlocks."""
    file = tmp_path / "mine.ripe"
    file.write_text(HANGS)
    return file
