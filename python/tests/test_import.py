"""The modules that `import ripeline` loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ripeline

# Each takes milliseconds to load, itself or by what it imports.
SLOW = {
    "copy",
    "dataclasses",
    "decimal",
    "enum",
    "importlib",
    "inspect",
    "json",
    "re",
    "signal",
    "subprocess",
    "tempfile",
    "typing",
    "warnings",
}


def test_it_loads_no_module_that_is_slow_to_load() -> None:
    folder = Path(ripeline.__file__).parent.parent
    script = f"import sys; sys.path.append({str(folder)!r}); import ripeline; print(*sys.modules)"
    # Without -S, Python itself may load some of them when it starts.
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE, check=True, timeout=60
    )
    loaded = ended.stdout.decode().split()
    assert "ripeline._program" in loaded
    assert SLOW.intersection(loaded) == set()
