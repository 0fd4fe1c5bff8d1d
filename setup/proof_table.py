"""proof_table.py PROOF.json: the verdicts of `ripeline verify --format json` as a table."""
import json
import sys

programs = json.load(open(sys.argv[1], encoding="utf-8"))
programs = programs.get("programs", [programs])
print(f"{'schedule':<18} {'verdict':<8} {'microbatches':<13} {'seconds':>8}  most activations held, by rank or stage")
for program in programs:
    obligations = program["obligations"]
    seconds = sum(o["seconds"] for o in obligations)
    memory = next((o for o in obligations if o["name"] == "memory"), {})
    peak = memory.get("pool_peak", {}).get("activation", [])
    reached = memory.get("pool_peak_reached", {}).get("activation", [])
    name = program["program"].rsplit("/", 1)[-1].removesuffix(".ripe")
    held = " ".join("grows" if p is None else f"{'' if r else 'at most '}{p}" for p, r in zip(peak, reached))
    print(f"{name:<18} {program['verdict']:<8} {str(program['microbatches']):<13} {seconds:>8.3f}  {held}")
