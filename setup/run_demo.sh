#!/usr/bin/env bash
# run_demo.sh BUILD: what ./demo shows once everything in BUILD is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ripeline=$1/cli/ripeline
gpt=$1/examples/gpt/gpt
schedules=examples/gpt/schedules
out=$1/demo
mkdir -p "$out"

title() { printf '\n== %s\n\n' "$*"; }
run() {
  local words="$*"
  printf '$ %s\n' "${words//"$PWD/"/}"
  "$@"
}

title "1. The proof: for every timing and every number of microbatches"
"$ripeline" verify --format json "$schedules"/*.ripe >"$out/proof.json" 2>"$out/proof.err" || { cat "$out/proof.err" >&2; exit 1; }
/usr/bin/python3 setup/proof_table.py "$out/proof.json"
printf '\nThe whole verdict of one of them, and what it assumes: ripeline verify %s/bf.ripe\n' "$schedules"

title "2. The arbiter that was generated from it"
header=$(find "$1/examples/gpt" -name bf.h | head -n 1)
printf '%s, %s lines. What bf does when a rank is idle:\n\n' "${header#"$PWD"/}" "$(wc -l <"$header")"
sed -n '/Hint bf/,/^  }/p' "$header"

title "3. Training on four processes, under a readiness-first schedule whose sums have a fixed order"
printf 'Text: the licences in /usr/share/common-licenses, as bytes. A guess among 256 costs 5.55 nats per byte.\n'
printf 'The first steps are also done by the unpipelined model, and every gradient compared: 0 means bit for bit.\n\n'
run "$ripeline" launch -n 4 -- "$gpt" --schedule bf_sequential --steps 60 --check --json "$out/training.json" --trace "$out/trace.json"
printf '\nWhat ran when, for chrome://tracing or Perfetto: %s\n' "${out#"$PWD"/}/trace.json"

title "4. Fixed order against readiness-first, same memory, same delays: rare late messages, overtaking"
printf 'Sleeps stand for compute: F 4 ms, B 8 ms. 5 %% of the messages come 80 ms late. Predicted by simulation: 1.3 to 1.5 in favour.\n\n'
small=(--width 8 --heads 1 --context 8 --batch 1 --microbatches 32)
run "$ripeline" launch -n 4 -- "$gpt" --compare 1f1b,bf "${small[@]}" --steps 7 \
  --delay compute=F:4,compute=B:8,rare=5:80 --seed 3 --json "$out/late.json"

title "5. The same under light jitter, where committing to the order is better"
printf 'Sleeps of F 8 ms and B 16 ms vary by 30 %%, no message is late. Predicted by simulation: bf loses 1 to 2 %%.\n\n'
run "$ripeline" launch -n 4 -- "$gpt" --compare 1f1b,bf "${small[@]}" --steps 9 \
  --delay compute=F:8,compute=B:16,jitter=0.3 --seed 3 --json "$out/jitter.json"

title "Summary"
/usr/bin/python3 setup/demo_summary.py "$out"
