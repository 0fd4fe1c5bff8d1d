#!/usr/bin/python3
"""docs/make_gallery.py --ripeline PROGRAM [--check]: writes docs/gallery.md and its pictures, or says what is not current.

Each schedule of `ripeline library` on 4 ranks with 8 microbatches and its own costs: proved, simulated, drawn, exported.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS, MICROBATCHES = 4, 8
HEAD = f"""# Gallery

Every schedule of [the library](library.md) on {RANKS} ranks with {MICROBATCHES} microbatches and its own costs (a backward takes two forwards; of a split one each half takes one), without latency. `docs/make_gallery.py --ripeline build/release/cli/ripeline` writes this page; a test says when it is not current. One of its pictures:
```sh
ripeline simulate 1f1b -D ranks={RANKS} -m {MICROBATCHES} --picture 1f1b.svg > 1f1b.txt 2>&1
```

*Bubble* is the share of the span in which the rank that works most is idle, *held* the most activations on each rank, of a stage each: stages are half as large where a rank has two. Every one is proved for any number of microbatches. *PyTorch* says whether the order can be written as a CSV of PyTorch (`ripeline export`, [what passes](check.md)).

| schedule | makespan | bubble | held | proved by | PyTorch |
|---|---|---|---|---|---|
"""


def run(ripeline, *arguments, may_fail=False):
    done = subprocess.run([ripeline, *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"gallery: ripeline {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}{done.stdout}")
    return done


def number(value):
    return f"{value:g}"


def one(ripeline, name, folder):
    """The row of a schedule; its picture goes to the folder."""
    sizes = ["-D", f"ranks={RANKS}"]
    verdict = json.loads(run(ripeline, "verify", name, *sizes, "--format", "json").stdout)
    picture = folder / f"{name}.svg"
    simulated = run(ripeline, "simulate", name, *sizes, "-m", str(MICROBATCHES), "--format", "json", "--picture", str(picture))
    report = json.loads(simulated.stdout)
    exported = run(ripeline, "export", name, *sizes, "-m", str(MICROBATCHES), "-o", str(folder / "order.csv"), may_fail=True)
    methods = {o["name"]: o.get("method", "") for o in verdict["obligations"]}
    held = " ".join(str(n) for n in report["peak"]["activation"])
    bubble = 100 * report["bubble"] / report["span"]
    return (f"| [`{name}`](#{name}) | {number(report['makespan'])} | {bubble:.1f} % | {held} "
            f"| {methods['deadlock']} | {'yes' if exported.returncode == 0 else 'no'} |\n")


def made(ripeline, folder):
    """The files of the gallery, by path from docs/."""
    listed = run(ripeline, "library").stdout.splitlines()
    entries = [line.split(None, 1) for line in listed if line and not line.startswith("zb ")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def work(entry):
            own = folder / entry[0]
            own.mkdir()
            return one(ripeline, entry[0], own)
        rows = list(pool.map(work, entries))
    page = HEAD + "".join(rows)
    for name, summary in entries:
        page += f"\n## {name}\n\n{summary}\n\n![{name} on {RANKS} ranks](gallery/{name}.svg)\n"
    files = {f"gallery/{name}.svg": (folder / name / f"{name}.svg").read_text() for name, _ in entries}
    return {"gallery.md": page, **files}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ripeline", required=True, help="the built program")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not current")
    options = parser.parse_args()
    docs = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        files = made(os.path.abspath(options.ripeline), pathlib.Path(folder))
    there = {"gallery.md"} | {f"gallery/{p.name}" for p in (docs / "gallery").glob("*")}
    stale = sorted(name for name in there | set(files)
                   if not (docs / name).exists() or (docs / name).read_text() != files.get(name))
    if options.check:
        for name in stale:
            print(f"docs/{name} is not current: run docs/make_gallery.py")
        sys.exit(1 if stale else 0)
    (docs / "gallery").mkdir(exist_ok=True)
    for name in stale:
        if name in files:
            (docs / name).write_text(files[name])
        else:
            (docs / name).unlink()
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
