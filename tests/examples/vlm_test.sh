#!/usr/bin/env bash
# vlm_test.sh CASE VLM LAUNCH: what vlm learns, the data that it makes and reads, and which exit code it ends with. Each case is a function below.
set -uo pipefail
case=$1 vlm=$2 launch=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
expect_code() { [ "$1" = "$2" ] || fail "exit code $2, not $1"; }

# It captions images: the loss falls a third below what any model reaches that does not see them. The order of its sums is fixed.
learns() {
  said=$("$launch" -n 4 -- "$vlm" --schedule bf_sequential --steps 300 --seed 2) || fail "exit code $?"
  printf '%s\n' "$said"
  sed -n 's/.* loss \([0-9.]*\) nats per word at the end; at best \([0-9.]*\) for .*/\1 \2/p' <<<"$said" |
    awk '{ lines++; far = 3 * $1 < 2 * $2 } END { exit !(lines == 1 && far) }' || fail "it has not learnt from the images"
}

# What is written is read back: training on the folder is training on what was made.
data_round_trip() {
  "$vlm" --make-data shapes --count 40 --seed 5 || fail "exit code $?"
  [ "$(wc -l <shapes/captions.txt)" = 40 ] || fail "captions.txt has not 40 lines"
  [ "$(find shapes -name '*.png' | wc -l)" = 40 ] || fail "there are not 40 images"
  made=$("$launch" -n 4 -- "$vlm" --count 40 --seed 5 --steps 2 --schedule bf_sequential) || fail "exit code $?"
  read_back=$("$launch" -n 4 -- "$vlm" --data shapes --seed 5 --steps 2 --schedule bf_sequential) || fail "exit code $?"
  lines() { grep -oE '[0-9]+ images .*|loss .* norm *[0-9.]+|at best .*' <<<"$1"; }
  [ "$(lines "$made")" = "$(lines "$read_back")" ] || fail "made: $made"$'\n'"read: $read_back"
  "$vlm" --make-data again --count 2 --seed 5 >/dev/null || fail "exit code $?"
  cmp again/00001.png shapes/00001.png || fail "an image follows from more than the seed and its number"
}

# expect_refusal TEXT: training on `shapes` ends with code 10 and says this.
expect_refusal() {
  said=$(RANK=0 WORLD_SIZE=4 "$vlm" --data shapes 2>&1)
  expect_code 10 $?
  [[ $said == *"$1"* ]] || fail "it does not say '$1': $said"
}

bad_data() {
  expect_refusal 'vlm: shapes is no folder'
  mkdir shapes
  expect_refusal 'shapes/captions.txt cannot be read'
  rm -r shapes
  "$vlm" --make-data shapes --count 3 >/dev/null || fail "exit code $?"
  said=$("$vlm" --make-data shapes 2>&1)
  expect_code 10 $?
  [[ $said == *'shapes/captions.txt is there already'* ]] || fail "$said"
  cp shapes/captions.txt captions.txt
  echo 'a caption alone' >>shapes/captions.txt
  expect_refusal 'shapes/captions.txt:4: a line is a file, a tab and a caption'
  printf '00000.png\t\n' | cat captions.txt - >shapes/captions.txt
  expect_refusal 'shapes/captions.txt:4: the caption of 00000.png has 0 words'
  printf 'gone.png\ta circle\n' | cat captions.txt - >shapes/captions.txt
  expect_refusal 'shapes/captions.txt:4: gone.png: No such file or directory'
  : >shapes/captions.txt
  expect_refusal 'shapes/captions.txt has no line'
  cp captions.txt shapes/captions.txt
  echo 'this is a text' >shapes/00001.png
  expect_refusal 'shapes/captions.txt:2: 00001.png: Not a PNG file'
  head -c 200 shapes/00002.png >shapes/00001.png
  expect_refusal 'shapes/captions.txt:2: 00001.png: '
  # The beginning of a PNG of 20 x 16 pixels.
  printf '\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x14\0\0\0\x10\x08\x02\0\0\0\x99\x7a\xc8\x4c\0\0\0\x0aIDAT' >shapes/00001.png
  expect_refusal 'shapes/captions.txt:2: 00001.png: it is 20 x 16 pixels; sides are multiples of 8, at most 128'
}

# The ranks must have the same data; alone, or with a wrong command line, it does not run.
exit_codes() {
  # shellcheck disable=SC2016
  said=$("$launch" -n 4 -- bash -c 'exec "$0" --steps 1 --count $((8 + (RANK == 2)))' "$vlm" 2>&1)
  expect_code 11 $?
  [[ $said == *'rank 2 has data 9 images with hash '*', rank 0 has data 8 images with hash '* ]] || fail "$said"
  "$launch" -n 3 -- "$vlm" --count 8 >/dev/null 2>&1
  expect_code 11 $?
  "$vlm" >/dev/null 2>&1
  expect_code 2 $?
  "$vlm" --schedule none >/dev/null 2>err.txt
  expect_code 2 $?
  grep -q "no schedule is called 'none'; there are bf, bf_sequential, bfw, fc, pyramid" err.txt || fail "$(cat err.txt)"
  "$vlm" --data shapes --make-data shapes >/dev/null 2>&1
  expect_code 2 $?
}

# Its trainer takes both variables of the environment, and join_run refuses what cannot be.
instruments() {
  RIPELINE_TRACE=t.json RIPELINE_DELAY=message=1 "$launch" -n 4 -- "$vlm" --count 16 --steps 2 >out.txt 2>&1
  expect_code 0 $?
  [ "$(grep -c '"ph":"X"' t.json)" -gt 0 ] || fail "there are no tasks in the trace"
  [ ! -e t.json.parts ] || fail "the parts are left"
  RIPELINE_DELAY=compute=G:1 "$launch" -n 4 -- "$vlm" --count 16 --steps 1 >out.txt 2>&1
  expect_code 10 $?
  grep -q "RIPELINE_DELAY: delay 'compute=G': no op is called 'G'; ops here: F, B" out.txt || fail "$(cat out.txt)"
  RIPELINE_TRACE=/nowhere/t.json "$launch" -n 4 -- "$vlm" --count 16 --steps 1 >out.txt 2>&1
  expect_code 15 $?
  grep -q 'RIPELINE_TRACE: /nowhere/t.json: cannot be written' out.txt || fail "$(cat out.txt)"
}

"$case"
