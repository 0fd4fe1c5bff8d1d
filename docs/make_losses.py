#!/usr/bin/python3
"""docs/make_losses.py --ripeline PROGRAM --gpt PROGRAM --vlm PROGRAM [--steps N] [--check]: the losses of training under several schedules.

Trains both examples from the same seed without a pipeline, in a fixed order, and under hints. Fails unless the fixed order has the losses of
the unpipelined model to the bit in every step, and the others within a tolerance. Writes docs/losses.svg; with --check nothing.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# A rounding error grows as training goes on.
TOLERANCE = 1e-3
RANKS = 4
UNPIPELINED = "one process"
COLOURS = {UNPIPELINED: "#bbbbbb", "1f1b": "#1b9e77", "bf_sequential": "#1b9e77", "bf": "#d95f02", "bfw": "#7570b3", "1f1b_fc": "#e7298a",
           "fc": "#e7298a"}
EXAMPLES = [
    # Every fifth message is late, so that others overtake it, and hints sum gradients in other orders.
    {"name": "gpt", "options": "--width 32 --context 32 --batch 4 --microbatches 8 --lr 3e-3 --delay rare=20:8".split(), "fixed": "1f1b",
     "hints": ["bf", "bfw", "1f1b_fc"], "unit": "nats per byte"},
    {"name": "vlm", "options": "--microbatches 8 --batch 4".split(), "fixed": "bf_sequential", "hints": ["bf", "bfw", "fc"],
     "unit": "nats per word"},
]
WIDTH, HEIGHT, MARGIN = 420, 260, 46


def trained(programs, example, schedule, steps, checks):
    """The losses by step, and those of the unpipelined model if it is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        command = [programs["ripeline"], "launch", "-n", str(RANKS), "--", programs[example["name"]], "--schedule", schedule,
                   "--steps", str(steps), "--json", str(results), *example["options"], *(["--check", str(steps)] if checks else [])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if done.returncode != 0:
            sys.exit(f"losses: {' '.join(command)}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
        found = json.loads(results.read_text())["steps"]
    return [step["loss"] for step in found], [step.get("unpipelined_loss") for step in found]


def curves_of(programs, example, steps):
    """Losses by schedule."""
    fixed, unpipelined = trained(programs, example, example["fixed"], steps, checks=True)
    curves = {UNPIPELINED: unpipelined, example["fixed"]: fixed}
    for schedule in example["hints"]:
        curves[schedule] = trained(programs, example, schedule, steps, checks=False)[0]
    return curves


def largest_difference(curve, whole):
    """As a share of the loss."""
    return max(abs(a - b) / b for a, b in zip(curve, whole))


def check(example, curves):
    whole = curves[UNPIPELINED]
    if curves[example["fixed"]] != whole:
        sys.exit(f"losses: {example['name']}, {example['fixed']}: its losses are not those of one process, to the bit")
    if not whole[-1] < 0.9 * whole[0]:
        sys.exit(f"losses: {example['name']} does not learn: {whole[0]} at first, {whole[-1]} at last")
    for schedule, curve in curves.items():
        difference = largest_difference(curve, whole)
        print(f"{example['name']}, {schedule}: loss {curve[0]:.4f} to {curve[-1]:.4f}, largest difference {difference:.2g} of it")
        if not difference <= TOLERANCE:
            sys.exit(f"losses: that is more than {TOLERANCE:g}")


def panel(example, curves, left):
    """A picture of the curves, from `left` on."""
    steps = len(curves[UNPIPELINED])
    top = max(max(curve) for curve in curves.values())
    x = lambda step: left + MARGIN + step * (WIDTH - MARGIN - 10) / max(1, steps - 1)
    y = lambda loss: HEIGHT - 30 - loss * (HEIGHT - 60) / top
    parts = [f'<text x="{left + WIDTH / 2}" y="16" text-anchor="middle" font-weight="bold">{example["name"]}: {example["unit"]}</text>']
    for tick in range(0, int(top) + 1):
        parts.append(f'<path d="M{left + MARGIN} {y(tick):.1f}H{left + WIDTH - 10}" stroke="#eeeeee"/>'
                     f'<text x="{left + MARGIN - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    for step in range(0, steps, max(1, steps // 3)):
        parts.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{step}</text>')
    # Each thinner than the one below, so that all are seen where they lie on each other.
    width = 7.0
    for row, (schedule, curve) in enumerate(curves.items()):
        points = "L".join(f"{x(i):.1f} {y(loss):.1f}" for i, loss in enumerate(curve))
        parts.append(f'<path d="M{points}" fill="none" stroke="{COLOURS[schedule]}" stroke-width="{width:.1f}"/>')
        width *= 0.62
        parts.append(f'<text x="{left + WIDTH - 16}" y="{36 + 15 * row}" text-anchor="end" fill="{COLOURS[schedule]}">{schedule}</text>')
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in ("ripeline", "gpt", "vlm"):
        parser.add_argument(f"--{program}", required=True, metavar="PROGRAM", help=f"the program {program}")
    parser.add_argument("--steps", type=int, default=300, help="of training (300)")
    parser.add_argument("--check", action="store_true", help="train and compare, and write no picture")
    given = parser.parse_args()
    programs = {name: str(pathlib.Path(path).resolve()) for name, path in vars(given).items() if name in ("ripeline", "gpt", "vlm")}
    panels = []
    for i, example in enumerate(EXAMPLES):
        curves = curves_of(programs, example, given.steps)
        check(example, curves)
        panels.append(panel(example, curves, i * WIDTH))
    if given.check:
        return
    picture = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(EXAMPLES) * WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
               f'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(panels) + "\n</svg>\n")
    (pathlib.Path(__file__).resolve().parent / "losses.svg").write_text(picture)


if __name__ == "__main__":
    main()
