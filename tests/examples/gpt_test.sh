#!/usr/bin/env bash
# gpt_test.sh CASE GPT LAUNCH RIPELINE: what gpt leaves on the disk and which exit code it ends with. Each case is a function below.
set -uo pipefail
case=$1 gpt=$2 launch=$3 ripeline=$4
schedules=$(cd "$(dirname "$0")/../../examples/gpt/schedules" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
small=(--width 8 --heads 1 --context 8 --batch 1)

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
expect_code() { [ "$1" = "$2" ] || fail "exit code $2, not $1"; }

# expect_run CODES TRACE --program …: what is in the trace is a run of the program.
expect_run() {
  codes=$1
  shift
  "$ripeline" check-run "$@" >check.txt 2>&1
  [[ " $codes " == *" $? "* ]] || fail "$* is no run: $(cat check.txt)"
  rm check.txt
}

# as_proved SCHEDULE LAYERS PROGRAM…: trains with late messages, and what it did is a run.
as_proved() {
  schedule=$1 layers=$2
  shift 2
  "$launch" -n 4 -- "$gpt" "${small[@]}" --layers "$layers" --schedule "$schedule" --steps 3 --delay message=1,rare=10:10 \
    --trace t.json >out.txt 2>&1 || fail "$schedule: $(cat out.txt)"
  expect_run 0 t.json --program "$@"
}

# In fixed orders and by hints, at once and waiting, with one stage to a rank and with two, of one process to a rank and of several.
runs_as_proved() {
  as_proved 1f1b 4 "$schedules/1f1b.ripe" -D ranks=4
  as_proved bf 4 "$schedules/bf.ripe" -D ranks=4
  as_proved 1f1b_fc 4 1f1b_hint --dispatch 'ready by fc' -D ranks=4
  as_proved zb_h1 4 zb_h1 -D ranks=4
  as_proved zb_h2_rn 4 zb_h2 --dispatch 'ready by rn' -D ranks=4
  as_proved zb_v 8 zb_v -D ranks=4
  as_proved offload 4 "$schedules/offload.ripe" -D ranks=4
  as_proved bf_dp 4 "$schedules/bf_dp.ripe" -D ranks=2
}

# A run that ends well leaves one trace, over the old one, and the results.
writes_trace() {
  echo old >t.json
  "$launch" -n 4 -- "$gpt" "${small[@]}" --steps 3 --trace t.json --json r.json
  expect_code 0 $?
  "$ripeline" show t.json | grep -q 'rank 3' || fail "the trace is not drawn"
  [ "$(grep -c '"ph":"X"' t.json)" = $((3 * 4 * 2 * 8)) ] || fail "not every task of three steps is there"
  [ "$(ls)" = $'r.json\nt.json' ] || fail "other files are left: $(ls)"
}

# The environment says the same as the flags, and is refused as they are.
instruments() {
  RIPELINE_TRACE=t.json RIPELINE_DELAY=message=3 "$launch" -n 4 -- "$gpt" "${small[@]}" --steps 2 >out.txt 2>&1
  expect_code 0 $?
  grep -q 'delays message=3' out.txt || fail "the delays are not said: $(cat out.txt)"
  "$ripeline" why t.json 2>err.txt | grep -q 'rank 3' || fail "the trace is not read"
  grep -q 'step 1 of 0..1; --step says which' err.txt || fail "$(cat err.txt)"
  RIPELINE_DELAY=compute=F "$gpt" --ranks-as-threads >/dev/null 2>err.txt
  expect_code 2 $?
  grep -q "gpt: delay 'compute=F': expected compute=OP:MS, as in compute=F:4" err.txt || fail "$(cat err.txt)"
  RIPELINE_TRACE=/nowhere/t.json "$gpt" --ranks-as-threads >/dev/null 2>err.txt
  expect_code 2 $?
  grep -q '/nowhere/t.json: cannot be written' err.txt || fail "$(cat err.txt)"
}

# Two ranks of two members: the model of one process; the trace has a rank once.
tensor_parallel() {
  "$launch" -n 4 -- "$gpt" --schedule bf_tp --width 16 --heads 2 --context 8 --batch 2 --layers 2 --steps 3 --check 3 --dropout 0.1 \
    --trace t.json --json r.json >out.txt 2>&1
  expect_code 0 $?
  grep -q '2 ranks of 2 members each' out.txt || fail "the layout is not said: $(cat out.txt)"
  grep -q 'check, 3 steps: equal' out.txt || fail "$(cat out.txt)"
  [ "$(grep -c '"ph":"X"' t.json)" = $((3 * 2 * 2 * 8)) ] || fail "not every task of three steps is there once"
  "$gpt" --schedule bf_tp --ranks-as-threads --width 16 --heads 2 --context 8 --batch 2 --layers 2 --steps 2 --check 2 >out.txt 2>&1
  expect_code 0 $?
}

# A member is killed: all others name it, and none waits for its collectives.
member_killed() {
  # shellcheck disable=SC2016
  "$launch" -n 4 --grace 20 -- bash -c '
    if [ "$RANK" = 3 ]; then (sleep 3; kill -KILL $$) & fi
    exec "$@"' gpt "$gpt" --schedule bf_tp --width 8 --heads 2 --context 8 --batch 1 --layers 2 --steps 1000000 >out.txt 2>&1
  expect_code 137 $?
  [ "$(grep -c 'gpt: rank [0-2]: process 3 (rank 1, member 1) was lost' out.txt)" = 3 ] || fail "the others do not blame it: $(tail -12 out.txt)"
}

# The trace and the output say what the input halves left, through the parts.
traces_deferrals() {
  "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bfw --steps 2 --accumulate 2 --trace t.json >out.txt 2>&1
  expect_code 0 $?
  [ "$(grep -cE '"cat":"I".*"parameters":[0-9]+,"deferred":[0-9]+,"kept":[1-9]' t.json)" = $((2 * 2 * 4 * 8)) ] ||
    fail "not every input half says what it left: $(grep -m1 '"cat":"I"' t.json)"
  [ "$(grep -c '"deferred"' t.json)" = $((2 * 2 * 4 * 8)) ] || fail "other tasks say so, too"
  grep -qE 'weight gradients deferred, by stage: 10/14 8/12 8/12 10/16; kept for them a microbatch, KiB:( [0-9]+){4}$' out.txt ||
    fail "$(tail -3 out.txt)"
}

# A loss scale that is too large for float16: no rank makes an update, and the unpipelined model neither.
overflow() {
  "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf_sequential --precision fp16 --loss-scale 1e9 --steps 2 --check 2 --json r.json >out.txt 2>&1
  expect_code 0 $?
  [ "$(grep -c 'no update: loss scale 1e+09 is too large' out.txt)" = 2 ] || fail "$(cat out.txt)"
  [ "$(grep -c '"loss_scale": 1e+09, "skipped": true' r.json)" = 2 ] || fail "$(cat r.json)"
  "$launch" -n 4 -- "$gpt" "${small[@]}" --schedule bf_sequential --precision fp16 --loss-scale dynamic --steps 2 --check 2 >out.txt 2>&1
  expect_code 0 $?
  ! grep -q 'no update' out.txt || fail "$(cat out.txt)"
  grep -q 'check, 2 steps: equal; largest gradient difference 0 ' out.txt || fail "$(cat out.txt)"
  "$gpt" --ranks-as-threads --loss-scale 0 >/dev/null 2>&1
  expect_code 2 $?
}

# A rank stops; the others give up after --silence, and the parts are a trace.
stopped() {
  # shellcheck disable=SC2016
  "$launch" -n 4 --grace 1 -- bash -c '
    if [ "$RANK" = 2 ]; then (until [ -s t.json.parts/rank-2.json ]; do sleep 0.1; done; sleep 1; kill -STOP $$) & fi
    exec "$@"' gpt "$gpt" "${small[@]}" --steps 1000000 --trace t.json --silence 3 >out.txt 2>&1
  code=$?
  expect_code 13 $code
  [ "$(grep -c 'gpt: rank [013]: rank 2 has been silent for' out.txt)" = 3 ] || fail "the others do not blame rank 2: $(tail -9 out.txt)"
  grep -q 'what ran until then: ripeline show t.json.parts' out.txt || fail "it does not say where the trace is: $(tail -5 out.txt)"
  [ ! -e t.json ] || fail "there is a trace of half a run"
  # Ranks end at a time each: what the last steps lack may leave them open.
  expect_run '0 3' t.json.parts --program "$schedules/bf.ripe" -D ranks=4
  "$ripeline" show t.json.parts --trace t.json || fail "the parts are not merged"
  "$ripeline" why t.json 0F0 >/dev/null || fail "the merged trace is not read"
}

# A rank is told to end: all say so, and the parts are a trace.
told_to_end() {
  "$launch" -n 4 --grace 20 -- "$gpt" "${small[@]}" --steps 1000000 --trace t.json >out.txt 2>&1 &
  until [ -s t.json.parts/rank-2.json ]; do sleep 0.1; done
  # The guard is the launcher's only child, and the ranks are the guard's.
  guard=$(pgrep -P $!)
  for rank in $(pgrep -P "$guard"); do
    if tr '\0' '\n' <"/proc/$rank/environ" | grep -qx RANK=2; then kill -TERM "$rank"; fi
  done
  wait $!
  expect_code 143 $?
  [ "$(grep -c 'gpt: rank [0-3]: rank 2 was told to end by SIGTERM' out.txt)" = 4 ] || fail "not all say so: $(tail -9 out.txt)"
  "$ripeline" show t.json.parts --trace t.json || fail "the parts are not merged"
}

# The others do not come.
connect_limit() {
  said=$(RANK=0 WORLD_SIZE=4 RIPELINE_FOLDER="$work/run" "$gpt" "${small[@]}" --connect-limit 1 2>&1)
  expect_code 13 $?
  [[ $said == *'ranks 1, 2, 3 did not come to '*' within 1 s'* ]] || fail "$said"
}

# No file may grow: results and trace stay what they were, and the exit code says so.
full_disk() {
  echo old >r.json
  echo old >t.json
  said=$(trap '' XFSZ; ulimit -f 0; "$gpt" --ranks-as-threads "${small[@]}" --steps 1 --json r.json 2>&1)
  expect_code 15 $?
  [[ $said == *'r.json: cannot be written: File too large; the old file is still there'* ]] || fail "$said"
  [ "$(cat r.json)" = old ] || fail "the old results are gone"
  # Room for the opening of a part, and for a few steps.
  said=$(trap '' XFSZ; ulimit -f 64; "$gpt" --ranks-as-threads "${small[@]}" --steps 200 --trace t.json 2>&1)
  expect_code 15 $?
  [[ $said == *'step  199'* ]] || fail "it does not train to the end: $said"
  [[ $said == *'rank-0.json: cannot be written: File too large'* ]] || fail "$said"
  [ "$(cat t.json)" = old ] || fail "the old trace is gone"
  "$ripeline" show t.json.parts --trace t2.json || fail "the parts are not merged"
}

# Codes of their own for ranks that do not fit together, a wrong command line and a wrong place.
exit_codes() {
  "$launch" -n 3 -- "$gpt" >/dev/null 2>&1
  expect_code 11 $?
  "$gpt" --no-such-option >/dev/null 2>&1
  expect_code 2 $?
  "$gpt" --ranks-as-threads --json /nowhere/r.json >/dev/null 2>err.txt
  expect_code 2 $?
  grep -q '/nowhere/r.json: cannot be written' err.txt || fail "$(cat err.txt)"
  "$gpt" --ranks-as-threads --steps 5 --lr 1e30 --clip 0 "${small[@]}" >/dev/null 2>err.txt
  expect_code 15 $?
}

"$case"
