"""The command `ripeline`, also as `python -m ripeline`: the program that the package brings.

It takes the place of this process, since its commands start processes of their own.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Runs the program with the arguments of this process."""
    program = os.path.join(os.path.dirname(__file__), "bin", "ripeline")
    # Python ignores these signals, and a program inherits that: `ripeline … | head` would not end.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, ["ripeline", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"ripeline: {program} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
