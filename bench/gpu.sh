#!/usr/bin/env bash
# What Ripeline does on this machine's GPUs: a report of one page, for people who have some.
set -uo pipefail
usage() {
  cat <<TEXT
usage: bench/gpu.sh [BUILD [REPORT]]
  BUILD    where Ripeline was built (build/release)
  REPORT   a folder for report.md and the logs of each part (gpu-report)
Trains and measures for some minutes, three on an H100: correctness against the unpipelined model, what calls and copies cost, steps of one process beside
those of four, schedules under late tasks, what is left of a run whose rank is killed, and compute-sanitizer's memcheck. Processes share GPUs where there are fewer than four.
Exit codes: 0 all parts passed, 1 some failed, 2 bad input, 77 there is no GPU.
Its own test sets DEVICE, GPT, COSTS, IDLE, NCCL, THREADS (programs for another device), CARRIERS, SCHEDULES, and CALLS, WIDTH, CONTEXT, STEPS, TRAINS (sizes; seconds before a kill).
TEXT
}
case "${1:-}" in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
build=$(cd "${1:-build/release}" 2>/dev/null && pwd) || { printf 'bench/gpu.sh: no folder %s: build first (docs/gpu.md)\n' "${1:-build/release}" >&2; exit 2; }
schedules=$(cd "$(dirname "$0")/../examples/gpt/schedules" && pwd) || exit 2
device=${DEVICE:-cuda} gpt=${GPT:-$build/examples/gpt/gpt} costs=${COSTS:-$build/bench/bench_device_costs}
idle=${IDLE:-$build/bench/bench_device_idle} nccl=${NCCL:-$build/bench/bench_nccl} carriers=${CARRIERS:-staged ipc nccl}
checked=${SCHEDULES:-bf_sequential bf bfw zb_v offload bf_tied bf_tp bf_dp}
launch=$build/cli/ripeline-launch ripeline=$build/cli/ripeline
for program in "$gpt" "$costs" "$idle" "$nccl" "$launch" "$ripeline"; do
  [ -x "$program" ] || { printf 'bench/gpu.sh: %s is not built: configure with -DRIPELINE_CUDA=ON (docs/gpu.md)\n' "$program" >&2; exit 2; }
done
if ! why=$("$costs" 1 2>&1); then
  printf 'bench/gpu.sh: %s\n' "${why##*: skipped: }" >&2
  exit 77
fi
out=${2:-gpu-report}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
report=$out/report.md
failed=0

say() { printf '%s\n' "$*" | tee -a "$report"; }

# part NAME LIMIT COMMAND…: its output goes to NAME.log; what it ends with is said.
part() {
  local name=$1 limit=$2 code
  shift 2
  timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  case $code in
    0) say "- $name: passed" ;;
    77) say "- $name: skipped: $(tail -1 "$out/$name.log")" ;;
    *)
      say "- $name: **failed** with $code: $(tail -1 "$out/$name.log" | cut -c1-300)"
      failed=1
      ;;
  esac
  return "$code"
}

used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | paste -sd + | sed 's/^$/0/' | bc 2>/dev/null || echo 0; }

machine() {
  say "# Ripeline on $device, $(date -u +%Y-%m-%d)"
  say ""
  say "- host: $(uname -sr), $(nproc) cores, /dev/shm $(df -h --output=size /dev/shm 2>/dev/null | tail -1 | tr -d ' ')"
  say "- GPUs: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | paste -sd ';' || true)"
  say "- several processes on a GPU: $(pgrep -f nvidia-cuda-mps-control >/dev/null && echo 'MPS runs' || echo 'by time slices (no MPS)')"
}

small=(--device "$device" --layers 8 --width 32 --context 32)
correctness() {
  say ""
  say "## Gradients beside those of one process"
  local schedule carrier
  part threads_bf 300 "$gpt" "${small[@]}" --ranks-as-threads --schedule bf --steps 3 --check 3
  for schedule in $checked; do
    part "processes_$schedule" 300 "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule "$schedule" --heads 2 --steps 3 --check 3 &&
      say "  $(grep -o 'check, .*' "$out/processes_$schedule.log" | head -1)$(grep -o 'collectives: .*' "$out/processes_$schedule.log" | head -1 | sed 's/^/; /')"
  done
  for carrier in $carriers; do
    RIPELINE_CARRIER=$carrier part "carrier_$carrier" 300 "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf_sequential --steps 3 --check 3 &&
      say "  $(grep -o 'check, .*' "$out/carrier_$carrier.log" | head -1)"
  done
  RIPELINE_SYNC_DEBUG=error part no_task_waits_for_the_gpu 300 "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf --steps 5
  say "- $(grep -o 'offloaded, .*' "$out/processes_offload.log" || echo 'offloaded: nothing')"
  part as_proved 300 "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf --steps 3 --trace "$out/bf.json" &&
    part is_a_run 60 "$ripeline" check-run "$out/bf.json" --program "$schedules/bf.ripe" -D ranks=4
}

# Median milliseconds of a step, of all but the first.
median_of() { grep -o '"ms": [0-9.]*' "$1" | tail -n +2 | awk '{print $2}' | sort -n | awk '{a[NR]=$1} END {printf "%.1f", a[int((NR+1)/2)]}'; }

speed() {
  say ""
  say "## Time"
  part costs 120 "$costs" "${CALLS:-2000}" && { say '```text'; say "$(cat "$out/costs.log")"; say '```'; }
  part idle_between_tasks 120 "$idle" && { say '```text'; say "$(cat "$out/idle_between_tasks.log")"; say '```'; }
  # Four ranks share a GPU where there are fewer. In threads it takes an NCCL that allows that.
  local ranks
  for ranks in 2 4; do
    part "nccl_$ranks" 300 "$nccl" ${THREADS:-} "$ranks" "${CALLS:-200}" && { say '```text'; say "$(cat "$out/nccl_$ranks.log")"; say '```'; }
  done
  local size=(--device "$device" --layers 8 --width "${WIDTH:-512}" --heads 8 --context "${CONTEXT:-256}" --batch 8 --microbatches 16 --steps "${STEPS:-12}")
  part one_process 300 "$gpt" "${size[@]}" --ranks-as-threads --schedule bf --json "$out/one.json"
  if part four_processes 300 "$launch" -n 4 -- "$gpt" "${size[@]}" --schedule bf --json "$out/four.json" --trace "$out/four_trace.json"; then
    say "- a step of bf, 4 ranks, 16 microbatches, 4 3 2 1 held: $(median_of "$out/one.json") ms in one process, $(median_of "$out/four.json") ms in four"
    say "- $(grep -o 'memory of the device.*' "$out/four_processes.log")"
    part idle 60 "$ripeline" show "$out/four_trace.json" --width 100
  fi
  part late_tasks 600 "$launch" -n 4 -- "$gpt" "${size[@]}" --compare 1f1b,bf --delay compute=F:2,compute=B:4,rare=3:40 &&
    say "- tasks late by 2 and 4 ms, 3 % by 40 ms: $(grep -o '1f1b : bf = .*' "$out/late_tasks.log")"
}

# killed SCHEDULE: a process is killed: the others name it and end, and the memory is back.
killed() {
  local before after log=$out/killed_$1.log
  before=$(used)
  # shellcheck disable=SC2016
  timeout -k 10 120 "$launch" -n 4 --grace 20 -- bash -c '
    if [ "$RANK" = 2 ]; then (sleep "${TRAINS:-12}"; kill -KILL $$) & fi
    exec "$@"' gpt "$gpt" "${small[@]}" --schedule "$1" --heads 2 --steps 1000000 >"$log" 2>&1
  sleep 1
  after=$(used)
  if [ "$(grep -cE 'gpt: rank [013]: (rank 2|process 2 .*) was lost' "$log")" = 3 ]; then
    say "- $1 killed: passed; memory of the GPUs in use before $before MiB, after $after MiB"
  else
    say "- $1 killed: **failed**: $(tail -1 "$log" | cut -c1-300)"
    failed=1
  fi
}

: >"$report"
machine
correctness
speed
say ""
say "## A process that is killed"
killed bf
killed bf_tp
if [ "$device" = cuda ]; then
  say ""
  say "## Messages by NCCL"
  part by_nccl 300 env RIPELINE_CARRIER=nccl CUDA_MODULE_LOADING=EAGER "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf --heads 2 --steps 3 --check 3 &&
    say "  $(grep -o 'check, .*' "$out/by_nccl.log" | head -1)"
  say ""
  say "## Tests on the device"
  part cuda_device_tests 300 "$build/tests/cuda_device_tests"
  if [ -x "$build/tests/nccl_device_tests" ]; then part nccl_device_tests 120 "$build/tests/nccl_device_tests"; fi
  if command -v compute-sanitizer >/dev/null; then
    # Errors that calls return are the program's to handle.
    part memcheck 300 compute-sanitizer --report-api-errors no --error-exitcode 1 "$gpt" "${small[@]}" --ranks-as-threads --schedule bf --steps 2 --check 2
    part memcheck_tests 300 compute-sanitizer --report-api-errors no --error-exitcode 1 "$build/tests/cuda_device_tests" --gtest_filter='*trains*'
  fi
fi
printf 'report: %s\n' "$report"
exit "$failed"
