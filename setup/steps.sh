# shellcheck shell=bash disable=SC2034
# Sourced by setup.sh, ./demo and ./test (bash, `set -euo pipefail`): where things are, and how a step runs.
# A step shows one short line; what it prints goes to a log, of which the end is shown when the step fails.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${RIPELINE_CACHE:-$HOME/.cache/ripeline}
# The same names as in cmake/RipelineDeps.cmake.
deps=$cache/deps-$(sha256sum "$root/setup/wheels.txt" | cut -c1-12)
solver=$cache/solver-$(sha256sum "$root/setup/solver_wheel.txt" | cut -c1-12)
torch_2_15=$cache/torch-2.15-$(sha256sum "$root/setup/torch_2_15.txt" | cut -c1-12)
python_tools=$cache/python-$(sha256sum "$root/setup/python_tools.txt" | cut -c1-12)

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$@" >&2; exit 1; }

# The entries of a list file, without comments.
entries() { sed 's/#.*//; /^[[:space:]]*$/d' "$1"; }

# step "what it does" LOG COMMAND…: runs COMMAND, shows progress and the time it took, returns its exit status.
# On a terminal the line follows the last line of the log; elsewhere a line is added every 30 s.
step() {
  local what=$1 log=$2 start=$SECONDS status=0 next=30 pid last
  shift 2
  mkdir -p "$(dirname "$log")"
  [ -t 1 ] || say "$what …"
  # A process group of its own, so that stopping the script stops the step's children too.
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -- "-$pid" 2>/dev/null || true; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    last=$(tail -n 1 "$log" | tr -cd '[:print:]' | cut -c1-60)
    if [ -t 1 ]; then
      printf '\r\033[K%s … %d s  %s' "$what" $((SECONDS - start)) "$last"
    elif ((SECONDS - start >= next)); then
      say "$what … $((SECONDS - start)) s  $last"
      next=$((next + 30))
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ -t 1 ] && printf '\r\033[K'
  if [ "$status" = 0 ]; then
    say "$what: done, $((SECONDS - start)) s"
  else
    say "$what: failed after $((SECONDS - start)) s. The end of $log:" >&2
    tail -n "${STEP_TAIL:-60}" "$log" | sed 's/^/  /' >&2
  fi
  return "$status"
}

# As many compile jobs as there are cores, but 2 GiB of memory for each: what a unit that includes LibTorch may take.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  ((memory >= 1)) || memory=1
  say $((cores < memory ? cores : memory))
}

# The path of a Python from 3.12 on that has its headers, for the wheel that serves all of those; nothing if there is none.
later_python() {
  local python fits='import os, sys, sysconfig
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info < (3, 12) or not os.path.exists(headers) or sysconfig.get_config_var("Py_GIL_DISABLED"): sys.exit(1)
print(sys.executable)'
  if [ -n "${RIPELINE_PYTHON312:-}" ]; then
    say "$RIPELINE_PYTHON312"
    return
  fi
  for python in python3.12 python3.13 python3.14 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3 \
    "$(uv python find '>=3.12' 2>/dev/null)"; do
    "$python" -c "$fits" 2>/dev/null && return
  done
  return 0
}

# configure PRESET, then build PRESET TARGET…: with the wheels that the set-up made.
configure() {
  local python=()
  case $1 in
    release | debug)
      python=(-DRIPELINE_PYTHON=ON -DRIPELINE_PYTHON_TOOLS="$python_tools" -DPython_EXECUTABLE=/usr/bin/python3)
      ;;&
    release) python+=(-DRIPELINE_PYTHON_ABI3="$(later_python)") ;;
    *) ;;  # Python cannot load a module that needs a sanitizer.
  esac
  step "configure ($1)" "$root/build/log/configure-$1.log" \
    cmake --preset "$1" -S "$root" -DRIPELINE_DEPS="$deps" -DRIPELINE_ORTOOLS="$solver/ortools/.libs" \
    ${python[@]+"${python[@]}"} || exit 1
}
build() {
  local preset=$1
  shift
  step "build ($preset: $*)" "$root/build/log/build-$preset.log" \
    cmake --build "$root/build/$preset" -j "$(jobs)" --target "$@" || exit 1
}
