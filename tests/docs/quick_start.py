"""quick_start.py --source ROOT --packages LIST --cmake CMAKE [--define NAME=VALUE…]: the build in README.md, without what takes root, the
network or minutes. NAME=VALUE is for what the packages bring and this machine has elsewhere.

The packages that it names are those of the list, or libz3-dev, which stands for the wheel; the tree configures with the flags that it gives,
in an empty folder; and what it builds and puts on PATH is what that folder would build there.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def fail(message):
    sys.exit(f"README.md, Build it: {message}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--define", action="append", default=[])
    arguments = parser.parse_args()
    block = re.search(r"^## Build it$.*?^```sh\n(.*?)^```$", (arguments.source / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    if block is None:
        fail("there is no block of commands")
    install, configure, build, path = [shlex.split(line) for line in block.group(1).splitlines()]

    listed = {line.split("#")[0].strip() for line in arguments.packages.read_text().splitlines()} | {"libz3-dev"}
    named = {word for word in install[3:] if not word.startswith("-")}
    if not named or named - listed:
        fail(f"packages that are not those of {arguments.packages.name}: {sorted(named - listed)}")

    folder = configure[configure.index("-B") + 1]
    if build[:3] != ["cmake", "--build", folder] or build[3] != "--target" or path != ["export", f"PATH=$PWD/{folder}/cli:$PATH"]:
        fail("what is configured, built and put on PATH is not one folder")
    with tempfile.TemporaryDirectory() as empty:
        words = [arguments.cmake, "-S", str(arguments.source), *[empty if word == folder else word for word in configure[1:]],
                 *[f"-D{define}" for define in arguments.define]]
        done = subprocess.run(words, cwd=arguments.source, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            fail(f"{shlex.join(words)}\n{done.stdout}{done.stderr}")
        plan = subprocess.run(["ninja", "-C", empty, "-t", "commands", *build[4:]], capture_output=True, text=True, timeout=60, check=False)
        if plan.returncode != 0 or " -o cli/ripeline " not in plan.stdout:
            fail(f"the target {build[4:]} does not make cli/ripeline\n{plan.stdout}{plan.stderr}")


main()
