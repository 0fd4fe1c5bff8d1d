#!/usr/bin/python3
"""docs/make_gallery.py --ripeline PROGRAM [--check]: writes docs/gallery.md and its pictures, or says what is not current.

Each schedule of `ripeline library` on 4 ranks with 8 microbatches, all for one model: proved, compared, drawn, exported.
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
COSTS = "F=1,B=2"
HEAD = f"""# Gallery

This page has every schedule of [the library](library.md) on {RANKS} ranks with {MICROBATCHES} microbatches, without latency. All schedules train [the same model](simulate.md#one-model-for-all-schedules): for a microbatch, all layers of a rank together take 1 in a forward and 2 in a backward. So each rank has 24 of work in every schedule, and times can be compared. These commands make one of the pictures, and a part of the table:
```sh
ripeline simulate 1f1b -D ranks={RANKS} -m {MICROBATCHES} --rank-costs {COSTS} --picture 1f1b.svg > 1f1b.txt 2>&1
ripeline compare 1f1b interleaved_1f1b zb_v -D ranks={RANKS} -m {MICROBATCHES} --rank-costs {COSTS} > table.txt
```

| column | |
|---|---|
| wall, span, bubble | times of a step, as in the [glossary](glossary.md#time) |
| held | the most that each rank holds, in microbatches of the whole rank: if a rank has two stages, an activation of one stage counts a half |
| proved by | the [method](meaning.md#methods) of the proof, which is for any number of microbatches |
| PyTorch | whether the order can be written as a CSV of PyTorch, by [`ripeline export`](check.md) |

| schedule | wall | bubble by wall | span | bubble by span | held | proved by | PyTorch |
|---|---|---|---|---|---|---|---|
"""


def run(ripeline, *arguments, may_fail=False):
    done = subprocess.run([ripeline, *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"gallery: ripeline {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}{done.stdout}")
    return done


def number(value):
    return f"{value:g}"


def share(part, whole):
    return f"{number(part)} ({100 * part / whole:.1f} %)"


def one(ripeline, name, folder, compared):
    """The row of a schedule, of which `compare` said this; its picture goes to the folder."""
    sizes = ["-D", f"ranks={RANKS}"]
    step = [*sizes, "-m", str(MICROBATCHES)]
    verdict = json.loads(run(ripeline, "verify", name, *sizes, "--format", "json").stdout)
    run(ripeline, "simulate", name, *step, "--rank-costs", COSTS, "--picture", str(folder / f"{name}.svg"))
    exported = run(ripeline, "export", name, *step, "-o", str(folder / "order.csv"), may_fail=True)
    methods = {o["name"]: o.get("method", "") for o in verdict["obligations"]}
    held = " ".join(number(n) for n in compared["peak_microbatches"]["activation"])
    wall, span = compared["wall"], compared["span"]
    return (f"| [`{name}`](#{name}) | {number(wall)} | {share(compared['wall_bubble'], wall)} | {number(span)} "
            f"| {share(compared['span_bubble'], span)} | {held} | {methods['deadlock']} | {'yes' if exported.returncode == 0 else 'no'} |\n")


def made(ripeline, folder):
    """The files of the gallery, by path from docs/."""
    listed = run(ripeline, "library").stdout.splitlines()
    entries = [line.split(None, 1) for line in listed if line and not line.startswith("zb ")]
    names = [name for name, _ in entries]
    compared = json.loads(run(ripeline, "compare", *names, "-D", f"ranks={RANKS}", "-m", str(MICROBATCHES),
                              "--rank-costs", COSTS, "--format", "json").stdout)
    if not compared["equal_work"]:
        sys.exit("gallery: the schedules do different amounts of work")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def work(name, of):
            own = folder / name
            own.mkdir()
            return one(ripeline, name, own, of)
        rows = list(pool.map(work, names, compared["runs"]))
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
