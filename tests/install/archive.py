"""The archive of the target `archive`: what its files ask for, and that it runs where nothing else is.

archive.py symbols ARCHIVE    each program and library needs only what lies beside it and glibc 2.35, and its licence is there
archive.py bare ARCHIVE       runs it where the file system has glibc alone, and /proc, which glibc asks where a program lies; exits with 77
                              if this may not be set up
archive.py solver ARCHIVE ORTOOLS    its solver opens the OR-tools of this folder; exits with 77 if there is none
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

NEWEST_GLIBC = (2, 35)  # Ubuntu 22.04
LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
GLIBC = {LOADER.name, "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
# Where the code of each file comes from, by its name: licenses/ has a text for each.
ORIGIN = {
    "ripeline-solver": ["ripeline"],
    "ripeline": ["ripeline", "boost", "asio", "cli11", "nlohmann_json", "protozero"],
    "libz3.so": ["z3"],
    "libfmt.so": ["fmt"],
    "libcrypto.so": ["openssl"],
    "libgcc_s.so": ["gcc"],
    "libstdc++.so": ["gcc"],
}
SKIPPED = 77
LIMIT_SECONDS = 60
HANGS = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"
# What no formula closes, so that the solver is asked.
OPEN_AT_FIRST = "optimise --ranks 4 -m 8 --costs 24,23,12,1 --memory 3 --seconds 5".split()
# What the commands in README.txt end with and say, by their first word.
EXPECTED = {
    "check": (1, r"\[deadlock\]"),
    "verify": (0, r"^1f1b: proved"),
    "simulate": (0, r"\bmakespan\b"),
    "--help": (0, r"\brecheck\b"),
}


def fail(message):
    sys.exit(f"archive.py: {message}")


def unpacked(archive, folder):
    """The one folder that the archive makes."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (top,) = pathlib.Path(folder).iterdir()
    return top


def check_symbols(archive):
    with tempfile.TemporaryDirectory() as folder:
        top = unpacked(archive, folder)
        beside = {path.name for path in (top / "lib").iterdir()}
        for path in [*(top / "bin").iterdir(), *(top / "lib").iterdir()]:
            headers = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True).stdout
            symbols = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
            missing = set(re.findall(r"^\s+NEEDED\s+(\S+)$", headers, re.MULTILINE)) - beside - GLIBC
            if missing:
                fail(f"{path.name} needs {sorted(missing)}, which neither glibc nor the archive has")
            asked = {tuple(map(int, text.split("."))) for text in re.findall(r"\bGLIBC_([0-9.]+)\b", headers + symbols)}
            if not asked:
                fail(f"{path.name} asks for no version of glibc: objdump was not understood")
            if max(asked) > NEWEST_GLIBC:
                fail(f"{path.name} asks for glibc {max(asked)}; Ubuntu 22.04 has {NEWEST_GLIBC}")
            for name in next((names for start, names in ORIGIN.items() if path.name.startswith(start)), []) or fail(
                    f"{path.name} came into the archive: where from, and under which licence?"):
                text = top / "licenses" / f"{name}.txt"
                if not text.is_file() or text.stat().st_size < 500:
                    fail(f"{text.name} is no licence")
        for program, folders in (("ripeline", "$ORIGIN/../lib"), ("ripeline-solver", "$ORIGIN/../lib:$ORIGIN/../../ortools/.libs")):
            found = re.findall(r"^\s+R(?:UN)?PATH\s+(\S+)$",
                               subprocess.run(["objdump", "-p", top / "bin" / program], check=True, capture_output=True, text=True).stdout,
                               re.MULTILINE)
            if found != [folders]:
                fail(f"bin/{program} looks for libraries in {found}")


def bare_root(archive, root):
    """Glibc at the places where this machine has it, the unpacked archive in /opt, and schedule.csv, which hangs. Returns the archive."""
    mapped = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True,
                            env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}).stdout
    for name in GLIBC - {LOADER.name}:
        place = re.search(rf"^\s+{re.escape(name)} \(libc6,x86-64\b.*=> (\S+)$", mapped, re.MULTILINE)
        if place:
            target = root / place[1].lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(place[1], target)
    (root / "lib64").mkdir()
    shutil.copy(LOADER, root / "lib64")
    (root / "proc").mkdir()
    (root / "schedule.csv").write_text(HANGS)
    (root / "opt").mkdir()
    return unpacked(archive, root / "opt")


def run_bare(archive):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        top = bare_root(archive, root)
        script = 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"'
        enter = ["unshare", "--mount", "sh", "-c", script, folder]
        # With --help the loader of glibc runs and needs nothing of the archive: what fails here is not the archive's fault.
        tried = subprocess.run([*enter, str(LOADER), "--help"], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        if os.geteuid() != 0 or tried.returncode != 0:
            print(f"archive.py: skipped, only root may change the root of its file system: {tried.stderr.strip()}")
            sys.exit(SKIPPED)

        def ripeline(*arguments, code, says):
            # All symbols are bound at the start: one that no library has shows whether or not it is called.
            ran = subprocess.run([*enter, f"/opt/{top.name}/bin/ripeline", *arguments], capture_output=True, text=True, timeout=LIMIT_SECONDS,
                                 env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin", "LD_BIND_NOW": "1"})
            output = ran.stdout + ran.stderr
            if ran.returncode != code or not re.search(says, output, re.MULTILINE):
                fail(f"ripeline {' '.join(arguments)} ended with {ran.returncode} instead of {code}, or without {says!r}:\n{output}")

        commands = [line.split() for line in re.findall(r"^  bin/ripeline (.*?)(?:  |$)", (top / "README.txt").read_text(), re.MULTILINE)]
        if sorted(words[0] for words in commands) != sorted(EXPECTED):
            fail(f"README.txt has other commands than {sorted(EXPECTED)}: {commands}")
        for words in commands:
            ripeline(*words, code=EXPECTED[words[0]][0], says=EXPECTED[words[0]][1])
        picture = (root / "1f1b.svg").read_text()
        if "<svg" not in picture or "</svg>" not in picture or ">7<" not in picture:
            fail("1f1b.svg does not show the last microbatch")
        ripeline(*OPEN_AT_FIRST, code=0, says="note: without the solver: .*OR-tools was not found")
        # What needs another program says which one.
        ripeline("verify", "1f1b", "--certificate", "proof", code=0, says="proved")
        ripeline("recheck", "proof", code=2, says="apt-get install cvc5")


def run_solver(archive, ortools):
    if not pathlib.Path(ortools).is_dir():
        print(f"archive.py: skipped, there is no OR-tools in '{ortools}'")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([unpacked(archive, folder) / "bin/ripeline", *OPEN_AT_FIRST, "--format", "json"], capture_output=True, text=True,
                             timeout=LIMIT_SECONDS, env={"PATH": "/usr/bin:/bin", "RIPELINE_ORTOOLS": ortools})
        if ran.returncode != 0 or json.loads(ran.stdout)["solver"] != "cp-sat":
            fail(f"it ended with {ran.returncode}, or was without the solver:\n{ran.stdout}{ran.stderr}")


def main():
    actions = {"symbols": (check_symbols, 1), "bare": (run_bare, 1), "solver": (run_solver, 2)}
    action, count = actions.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if action is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    action(*sys.argv[2:])


main()
