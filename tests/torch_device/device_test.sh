#!/usr/bin/env bash
# device_test.sh CASE GPT_FAKE GPT LAUNCH RIPELINE SCHEDULES: gpt on a device. Each case is a function below.
set -uo pipefail
case=$1 fake=$2 gpt=$3 launch=$4 ripeline=$5 schedules=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
small=(--width 8 --heads 1 --context 8 --batch 1)

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
expect_code() { [ "$1" = "$2" ] || fail "exit code $2, not $1"; }

# Tasks have the times of the device; what ran is a run of the program.
run_is_of_the_program() {
  "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 3 --trace t.json >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q 'memory of the device, by process: at most, KiB: [1-9][0-9]* [1-9].*; allocations after the second step: ' out.txt || fail "$(cat out.txt)"
  "$ripeline" check-run t.json --program "$schedules/bf.ripe" -D ranks=4 >check.txt 2>&1 || fail "$(cat check.txt)"
}

# What stages keep goes to pinned memory: in threads and in processes, no more than the proved 3 and 8 microbatches are on each side.
offload() {
  local run=("$fake" "${small[@]}" --device fake --schedule offload --microbatches 12 --steps 3 --check 3)
  "${run[@]}" --ranks-as-threads >threads.txt 2>&1 || fail "$(cat threads.txt)"
  "$launch" -n 4 -- "${run[@]}" >processes.txt 2>&1 || fail "$(cat processes.txt)"
  local out
  for out in threads.txt processes.txt; do
    grep -q 'check, 3 steps: equal; largest gradient difference 0 ' "$out" || fail "$(cat "$out")"
    grep -q 'activations held, by rank: 3 3 3 3 proved' "$out" || fail "$(cat "$out")"
    grep -q misused "$out" && fail "$(cat "$out")"
    # offloaded, by rank, KiB: of a microbatch A A A A; at most on the device B B B B, away C C C C
    sed -n 's/.*offloaded, by rank, KiB: of a microbatch //p' "$out" | tr -d ';,' | awk '
      NF == 0 { next }
      {
        for (r = 1; r <= 4; ++r) {
          one = $r; device = $(9 + r); away = $(14 + r)
          if (one < 1 || device < one || device > 3 * one + 3 || away < one || away > 8 * one + 8) exit 1
        }
        seen = 1
      }
      END { exit !seen }' || fail "$(cat "$out")"
  done
}

# What there is not is named, with what to do.
bad_devices() {
  "$gpt" --ranks-as-threads --steps 1 --device graphics >out.txt 2>&1
  [ $? != 0 ] || fail "it trained on a device that there is not"
  grep -q "'graphics' is no device: \`cpu\`, \`cuda\` or \`cuda:N\`" out.txt || fail "$(cat out.txt)"
  "$gpt" --ranks-as-threads --steps 1 --device xpu >out.txt 2>&1
  [ $? != 0 ] || fail "it trained on a device that there is not"
  grep -q 'stages run on no device of the kind `xpu`' out.txt || fail "$(cat out.txt)"
  "$fake" --ranks-as-threads --steps 1 --device fake:3 >out.txt 2>&1
  [ $? != 0 ] || fail "it trained on a device that there is not"
  grep -q 'there is no device `fake:3`: this host has 1, numbered from 0' out.txt || fail "$(cat out.txt)"
}

# How messages go is said, and can be told; a fake device is of one program, so that no process opens memory of another one's.
carriers() {
  "$fake" --ranks-as-threads "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^messages: ipc with rank ' out.txt || fail "$(cat out.txt)"
  "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^\[rank 0\] messages: staged with rank 1 (CUDA could not open' out.txt || fail "$(cat out.txt)"
  RIPELINE_CARRIER=staged "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^\[rank 0\] messages: staged with rank 1 (as it was told)' out.txt || fail "$(cat out.txt)"
  RIPELINE_CARRIER=ipc "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1
  expect_code 11 $?
  grep -q 'were told to use ipc, and cannot: CUDA could not open' out.txt || fail "$(cat out.txt)"
  RIPELINE_CARRIER=pigeons "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1
  expect_code 11 $?
  grep -q "RIPELINE_CARRIER is 'pigeons'; it may be ipc, nccl or staged" out.txt || fail "$(cat out.txt)"
  RIPELINE_CARRIER=nccl "$fake" --ranks-as-threads "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1
  expect_code 11 $?
  grep -qE 'of one process and use one device, which NCCL does not connect; RIPELINE_CARRIER=staged|rank [0-9] has no NCCL: ' out.txt || fail "$(cat out.txt)"
  # The fake of NCCL is of one process, so that in several nobody answers.
  RIPELINE_CARRIER=nccl "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf --steps 1 --connect-limit 2 >out.txt 2>&1
  code=$?
  if grep -q 'rank [0-9] has no NCCL: ' out.txt; then
    expect_code 11 $code
  else
    expect_code 13 $code
    grep -q 'took too long to be connected by NCCL; RIPELINE_CARRIER=staged goes without NCCL' out.txt || fail "$(cat out.txt)"
  fi
  # shellcheck disable=SC2016
  "$launch" -n 4 -- bash -c 'if [ "$RANK" = 2 ]; then export RIPELINE_CARRIER=staged; fi
    exec "$@"' gpt "$fake" "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1
  expect_code 11 $?
  grep -q 'rank 2 was told to use staged' out.txt || fail "$(cat out.txt)"
}

# Over what members and replicas add up is chosen by all, said, and can be told.
collectives() {
  local ranks=("$fake" --ranks-as-threads "${small[@]}" --device fake --schedule bf_dp --steps 1)
  FAKE_DEVICES=4 "${ranks[@]}" >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^collectives: nccl 2\.[0-9]*\.[0-9]*; assumed: kernels that all of a group have launched run side by side$' out.txt || fail "$(cat out.txt)"
  FAKE_DEVICES=4 RIPELINE_COLLECTIVES=gloo "${ranks[@]}" >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^collectives: gloo (as it was told)$' out.txt || fail "$(cat out.txt)"
  "$launch" -n 4 -- "$fake" "${small[@]}" --device fake --schedule bf_dp --steps 1 >out.txt 2>&1 || fail "$(cat out.txt)"
  grep -q '^\[rank 0\] collectives: gloo (processes 0 and 1 share a GPU)$' out.txt || fail "$(cat out.txt)"
  RIPELINE_COLLECTIVES=doves "${ranks[@]}" >out.txt 2>&1
  expect_code 11 $?
  grep -q "RIPELINE_COLLECTIVES is 'doves'; it may be nccl or gloo" out.txt || fail "$(cat out.txt)"
  # shellcheck disable=SC2016
  "$launch" -n 4 -- bash -c 'if [ "$RANK" = 2 ]; then export RIPELINE_COLLECTIVES=gloo; fi
    exec "$@"' gpt "$fake" "${small[@]}" --device fake --schedule bf_dp --steps 1 >out.txt 2>&1
  expect_code 11 $?
  grep -q 'process 0 was told none, process 2 was told to use gloo: RIPELINE_COLLECTIVES must be the same for all' out.txt || fail "$(cat out.txt)"
  # Programs without groups have none.
  "$fake" --ranks-as-threads "${small[@]}" --device fake --schedule bf --steps 1 >out.txt 2>&1 || fail "$(cat out.txt)"
  if grep -q collectives: out.txt; then fail "$(cat out.txt)"; fi
}

# Which of NVIDIA's parts is missing. Skipped where none is.
no_gpu() {
  "$gpt" --ranks-as-threads --steps 1 --device cuda >out.txt 2>&1 && exit 77
  grep -qE "gpt: (LibTorch's half for GPUs cannot be loaded: |no GPU can be used here: )" out.txt || fail "$(cat out.txt)"
}

# The others name it, and end.
killed() {
  # shellcheck disable=SC2016
  "$launch" -n 4 --grace 20 -- bash -c '
    if [ "$RANK" = 2 ]; then (sleep 4; kill -KILL $$) & fi
    exec "$@"' gpt "$fake" "${small[@]}" --device fake --steps 1000000 >out.txt 2>&1
  expect_code 137 $?
  [ "$(grep -c 'gpt: rank [013]: rank 2 was lost' out.txt)" = 3 ] || fail "the others do not blame it: $(tail -12 out.txt)"
}

# A call that does not come back is named by its rank, which ends by itself, and the others name that rank. CALL, and what the rank says of it.
hangs_in() {
  # shellcheck disable=SC2016
  "$launch" -n 4 --grace 40 -- bash -c '
    if [ "$RANK" = 2 ]; then export FAKE_HANGS=$0; fi
    exec "$@"' "$1" "$fake" "${small[@]}" --device fake --steps 1000000 --stall 4 >out.txt 2>&1
  expect_code 13 $?
  grep -qE "^\[rank 2\] ripeline: rank 2$2 has not come back for [0-9.]+ s: the process ends without it" out.txt || fail "it does not say so: $(tail -12 out.txt)"
  [ "$(grep -cE 'gpt: rank [013]: rank 2 (was lost|has been running|is alive)' out.txt)" = 3 ] || fail "the others do not blame it: $(tail -12 out.txt)"
}
hangs() {
  hangs_in cudaEventQuery:2000 '(, [0-9]+[FB][0-9]+)?: cudaEventQuery'
  hangs_in cudaStreamSynchronize:300 ', [0-9]+[FB][0-9]+: what the stage runs'
}

"$case"
