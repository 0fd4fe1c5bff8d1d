#!/usr/bin/env bash
# Installs what the build needs on Debian 12, x86-64: the packages of debian.txt (as root or with sudo, only if some are missing) and the
# wheels of wheels.txt and python_tools.txt, unpacked into ${RIPELINE_CACHE:-~/.cache/ripeline}; and OR-tools, the wheel of solver_wheel.txt, which
# is optional. PyTorch comes with LibTorch.
# What is there already is left alone, so a second run is quick.
set -euo pipefail
# shellcheck source=setup/steps.sh
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

usage() {
  cat <<TEXT
usage: setup/setup.sh [--no-packages] [--torch-2.15]
  --no-packages   install no Debian packages: you have the libraries of setup/debian.txt from elsewhere
  --torch-2.15    unpack PyTorch 2.15 too, with which the tests of \`ripeline.torch\` then run as well (0.6 GB to fetch, 1.2 GB unpacked)
RIPELINE_CACHE    the folder for downloads and logs (now $cache)
TEXT
}

# Names the network as the cause where the log $1 says so; what was fetched before stays.
explain() {
  if grep -qiE 'resolv|could not connect|connection (refused|reset|timed out)|network is unreachable|max retries|newconnectionerror|read timed out|no route to host|failed to fetch|proxyerror' "$1"; then
    say "The network or a package server could not be reached. Nothing is lost: run this again when it is there." >&2
  fi
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p')
  entries "$root/setup/debian.txt" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

install_packages() {
  local missing as_root=()
  local os=unknown
  [ ! -r /etc/os-release ] || os=$(. /etc/os-release && printf '%s %s' "${ID:-}" "${VERSION_ID:-}")
  if [ "$os" != "debian 12" ]; then
    fail "This set-up knows the packages of Debian 12; this machine is '$os'." \
      "Install the counterparts of these yourself, then run 'setup/setup.sh --no-packages' and 'cmake --preset release':" \
      "  $(entries "$root/setup/debian.txt" | paste -sd ' ')"
  fi
  missing=$(missing_packages | paste -sd ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "Some Debian packages are missing, and installing them takes root or sudo. As root, run:" \
      "  apt-get update && apt-get install --no-install-recommends $missing"
    sudo -v || fail "sudo refused. As root, run:" "  apt-get install --no-install-recommends $missing"
    as_root=(sudo)
  fi
  local log=$cache/log/apt.log apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # One of several package sources may be out of reach: whether that matters is seen when the packages are installed.
  STEP_TAIL=5 step "package lists" "$log" "${as_root[@]}" "${apt[@]}" update || true
  # shellcheck disable=SC2086  # a list of names
  if ! STEP_TAIL=8 step "Debian packages ($(wc -w <<<"$missing"))" "$log" \
    "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends $missing; then
    explain "$log"
    exit 1
  fi
}

# install_wheels LIST FOLDER "what they are" LOG [UNNEEDED…]: unpacks the wheels of LIST, less files that are not needed (patterns in their
# folder), beside FOLDER and renames that when it is whole: a folder with the final name is complete.
install_wheels() {
  local list=$1 folder=$2 what=$3 log=$4 unneeded part
  shift 4
  [ ! -e "$folder/.complete" ] || return 0
  [ "$(uname -m)" = x86_64 ] ||
    fail "The pinned wheels are for x86-64; this machine is $(uname -m). Configure with your own LibTorch and Z3: CMAKE_PREFIX_PATH."
  mkdir -p "$cache/log"
  exec 9>"$cache/lock"
  flock -n 9 || say "Another set-up is running: waiting for it."
  flock -w 1800 9 || fail "Another set-up has held $cache/lock for half an hour."
  if [ -e "$folder/.complete" ]; then
    exec 9>&-
    return 0
  fi
  rm -rf "$cache"/partial-* "$folder"
  part=$(mktemp -d "$cache/partial-XXXXXX") && chmod 755 "$part" || return 1
  # The version is that of Debian 12's Python. As C++ libraries the wheels serve with any other, too.
  if ! STEP_TAIL=12 step "$what" "$log" \
    /usr/bin/python3 -m pip install --no-deps --require-hashes --only-binary :all: --no-compile --progress-bar off \
    --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux2014_x86_64 --platform manylinux_2_5_x86_64 --target "$part" -r "$list"; then
    rm -rf "$part"
    explain "$log"
    exec 9>&-
    return 1
  fi
  for unneeded in "$@"; do
    # shellcheck disable=SC2086  # a pattern
    (cd "$part" && rm -rf $unneeded) || return 1
  done
  touch "$part/.complete" && mv "$part" "$folder" || return 1
  exec 9>&-
}

# Imports the PyTorch in the folder $1 once: that tells whether it can be, and keeps its compiled modules, without which each import takes 10 s.
import_torch() {
  [ ! -d "$1/torch/distributed/pipelining/__pycache__" ] || return 0
  "$root/setup/absent_cuda.sh" "$1" &&
    PYTHONPATH="$python_tools:$1" step "import torch" "$cache/log/import_torch.log" \
      env -u PYTHONDONTWRITEBYTECODE /usr/bin/python3 -c 'import torch.distributed.pipelining' ||
    say "The tests of \`ripeline.torch\` are skipped: they run with the Python of Debian 12."
}

packages=yes later_torch=
for option in "$@"; do
  case "$option" in
    --no-packages) packages= ;;
    --torch-2.15) later_torch=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[ -z "$packages" ] || install_packages
install_wheels "$root/setup/wheels.txt" "$deps" "LibTorch and Z3 (0.6 GB to fetch, 1.2 GB unpacked)" "$cache/log/wheels.log"
install_wheels "$root/setup/python_tools.txt" "$python_tools" "Python packages for building, testing and packing ours (80 MB to fetch)" "$cache/log/python_tools.log"
import_torch "$deps"
if [ -n "$later_torch" ]; then
  install_wheels "$root/setup/torch_2_15.txt" "$torch_2_15" "PyTorch 2.15 (0.6 GB to fetch, 1.2 GB unpacked)" "$cache/log/torch_2_15.log" 'torch/include'
  import_torch "$torch_2_15"
fi
# What is needed of it are the libraries, in ortools/.libs and ortools.libs.
install_wheels "$root/setup/solver_wheel.txt" "$solver" "OR-tools (30 MB to fetch, 70 MB unpacked)" "$cache/log/solver_wheel.log" \
  'ortools/[!.]*' 'pybind11_abseil' ||
  say "OR-tools is optional: without it \`ripeline optimise\` searches without a solver. Run this again to have it."
