"""demo_summary.py FOLDER: what ./demo found, from the JSON files of its runs."""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


def load(name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def memory(side):
    return " ".join(str(pool["proved"]) for pool in side["memory"])


programs = load("proof.json")["programs"]
proved = sum(p["verdict"] == "proved" for p in programs)
seconds = sum(o["seconds"] for p in programs for o in p["obligations"])
print(f"proof      {proved} of {len(programs)} schedules proved for any number of microbatches, in {seconds:.2f} s")

training = load("training.json")
steps = training["steps"]
print(f"training   loss {steps[0]['loss']:.2f} at first, {steps[-1]['loss']:.2f} after {len(steps)} steps (uniform: 5.55 nats per byte)")
check = training["check"]
print(f"gradients  largest difference from the unpipelined model: {check['largest_gradient_difference']:g}"
      f" (allowed: {check['tolerance']:g}), over {check['steps']} steps and every parameter")

print()
print(f"{'time per step, ms (median)':<40} {'1f1b, fixed':>12} {'bf, ready':>12} {'1f1b : bf':>10}   activations held, both sides")
for name, what in (("late.json", "rare late messages, overtaking"), ("jitter.json", "light jitter")):
    run = load(name)
    fixed, ready = run["sides"]
    same = memory(fixed) == memory(ready)
    held = memory(fixed) if same else f"{memory(fixed)} against {memory(ready)}"
    print(f"{what:<40} {fixed['median_ms']:>12.1f} {ready['median_ms']:>12.1f} {run['ratio']:>10.3f}   {held}")
print()
print("Above 1 readiness-first is faster; below 1 the fixed order is. Sleeps stand for compute and lateness; both sides met the same ones.")
