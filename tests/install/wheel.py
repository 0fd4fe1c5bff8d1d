"""wheel.py FOLDER PYTHON [ORTOOLS]: installs the wheel in FOLDER that fits PYTHON as a user would, into a new environment, and uses it where PATH
leads to this environment alone: the command, three cells of a notebook, how long they take. With the OR-tools of ORTOOLS beside the package the
solver finds them. Exits with 77 if PYTHON is empty.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

SKIPPED = 77
LIMIT_SECONDS = 100
HANGS = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"
LICENCES = {"Apache-2.0", *(f"{name}.txt" for name in (
    "asio", "boost", "cli11", "fmt", "nanobind", "nlohmann_json", "openssl", "protozero", "ripeline", "z3"))}
# No formula closes it, so that the solver is asked.
OPEN_AT_FIRST = "optimise --ranks 4 -m 8 --costs 24,23,12,1 --memory 3 --seconds 5 --format json".split()
# Cells, and a part of what the notebook shows of the last line of each, by its type.
CELLS = [
    ('import ripeline\nripeline.check_csv("schedule.csv", placement="chain")', "text/plain", "[deadlock]"),
    ('program = ripeline.Program("bf", ranks=4)\nprogram.verify()', "text/plain", "bf: proved"),
    ("program.simulate(8)", "image/svg+xml", "</svg>"),
]
NOTEBOOK = """
import ast, json, sys
names = {}
for cell in json.load(sys.stdin):
    *first, last = ast.parse(cell).body
    exec(compile(ast.Module(first, []), "cell", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    bundle = getattr(shown, "_repr_mimebundle_", lambda: {"text/plain": repr(shown)})()
    print(json.dumps(bundle))
"""
# CPU seconds: of the statement in the first place, after the one in the second; and the aim. A busy machine may take three times as long.
TIMES = [
    ("import ripeline", "pass", 0.05),
    ('ripeline.Program("bf", ranks=8).verify()', "import ripeline", 0.05),
    ('ripeline.Program("bf", ranks=64).verify()', "import ripeline", 0.5),
]


def fail(message):
    sys.exit(f"wheel.py: {message}")


class Installed:
    """An environment with the wheel."""

    def __init__(self, folder, wheels, python):
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.environment = {"PATH": str(self.bin), "HOME": str(folder)}
        start = time.monotonic()
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "--python", self.bin / "python3", "install", "--quiet", "--no-index",
                        "--find-links", wheels, "ripeline"], check=True)
        print(f"installed in {time.monotonic() - start:.1f} s")
        (self.package,) = (folder / "venv" / "lib").glob("python*/site-packages/ripeline")
        (folder / "schedule.csv").write_text(HANGS)

    def run(self, *command, text=None):
        return subprocess.run([self.bin / command[0], *command[1:]], cwd=self.folder, env=self.environment, input=text, text=True,
                              capture_output=True, timeout=LIMIT_SECONDS, check=False)

    def expect(self, *command, code=0, says="", text=None):
        ran = self.run(*command, text=text)
        if ran.returncode != code or not re.search(says, ran.stdout + ran.stderr, re.MULTILINE):
            fail(f"{' '.join(command)} ended with {ran.returncode} instead of {code}, or without {says!r}:\n{ran.stdout}{ran.stderr}")
        return ran.stdout


def check_files(installed, wheel):
    with zipfile.ZipFile(wheel) as files:
        names = {name for name in files.namelist() if not name.endswith("/")}
    found = {pathlib.PurePath(name).name for name in names if name.startswith("ripeline/licenses/")}
    if found != LICENCES:
        fail(f"{wheel.name} has other licences: missing {sorted(LICENCES - found)}, more {sorted(found - LICENCES)}")
    libraries = sorted(pathlib.PurePath(name).name for name in names if re.search(r"\.so(\.|$)", name))
    for library in libraries:
        # The text of each library's licence is above.
        if not re.match(r"_ripeline\.|lib(z3|fmt|crypto)[-.]", library):
            fail(f"{library} came into the wheel: where from, and under which licence?")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, with {', '.join(libraries)}")
    for name in ("_ripeline.pyi", "py.typed"):
        if not (installed.package / name).is_file():
            fail(f"ripeline/{name} is missing")


def check_command(installed):
    installed.expect("ripeline", "check", "schedule.csv", "--placement", "chain", code=1, says=r"\[deadlock\]")
    installed.expect("ripeline", "verify", "1f1b", says="^1f1b: proved")
    installed.expect("ripeline", "simulate", "1f1b", "-m", "8", "--picture", "1f1b.svg", says=r"\bmakespan\b")
    installed.expect("python3", "-m", "ripeline", "--version", says=r"^ripeline \d")
    # Processes of its own, which must not be Python's.
    installed.expect("ripeline", "emulate", "1f1b", "-D", "ranks=2", "-m", "4", "--unit", "us", "--processes")
    installed.expect("ripeline", "launch", "-n", "2", "--", "python3", "-c", "print('started')", says="started")
    # Certificates are checked by a program that no wheel has.
    installed.expect("ripeline", "verify", "1f1b", "--certificate", "proof", says="proved")
    installed.expect("ripeline", "recheck", "proof", code=2, says="apt-get install cvc5")
    # Python's own handling of signals is not handed on.
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([installed.bin / "ripeline", "library", "bf"], env=installed.environment, stdout=write, check=False).returncode
    os.close(write)
    if ended != -signal.SIGPIPE:
        fail(f"with its output closed, ripeline ended with {ended}")


def check_cells(installed):
    shown = installed.expect("python3", "-c", NOTEBOOK, text=json.dumps([cell for cell, _, _ in CELLS])).splitlines()
    for (cell, kind, says), bundle in zip(CELLS, shown, strict=True):
        if says not in json.loads(bundle).get(kind, ""):
            fail(f"the cell\n{cell}\ndoes not show {says!r} as {kind}:\n{bundle}")


def check_times(installed):
    for statement, before, aim in TIMES:
        script = f"import time\n{before}\nbegin = time.process_time()\n{statement}\nprint(time.process_time() - begin)"
        least = min(float(installed.expect("python3", "-c", script)) for _ in range(4))
        print(f"{statement}: {least:.3f} s of CPU time; the aim is {aim}")
        if least > 3 * aim:
            fail("this is more than three times the aim")


def check_solver(installed, ortools):
    if not ortools.is_dir():
        print(f"without the solver: there is no OR-tools in '{ortools}'")
        return
    packages = installed.package.parent
    for name in ("ortools", "ortools.libs"):
        (packages / name).symlink_to(ortools.parent.parent / name)
    # The solver also looks where this build has OR-tools: it must find another name there.
    solver = installed.package / "bin" / "ripeline-solver"
    code = solver.read_bytes()
    here = str(ortools).encode()
    if here not in code:
        fail(f"{solver} was built for other OR-tools than {ortools}")
    solver.write_bytes(code.replace(here, b"-" * len(here)))
    if (found := json.loads(installed.expect("ripeline", *OPEN_AT_FIRST)))["solver"] != "cp-sat":
        fail(f"the solver did not find the OR-tools beside the package: {found}")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    wheels, python = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not python:
        print("wheel.py: skipped, no Python from 3.12 on was found (RIPELINE_PYTHON312 names one)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        installed = Installed(pathlib.Path(folder), wheels, python)
        version = json.loads(installed.expect("python3", "-c", "import sys; print(list(sys.version_info[:2]))"))
        (wheel,) = wheels.glob("ripeline-*-cp311-*.whl" if version == [3, 11] else "ripeline-*-abi3-*.whl")
        check_files(installed, wheel)
        check_command(installed)
        check_cells(installed)
        check_times(installed)
        if len(sys.argv) == 4:
            check_solver(installed, pathlib.Path(sys.argv[3]))


main()
