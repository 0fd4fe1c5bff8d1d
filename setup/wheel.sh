#!/usr/bin/env bash
# Makes the wheels of the Python package `ripeline`, for machines without a compiler.
set -euo pipefail
# shellcheck source=setup/steps.sh
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

later=$(later_python)
usage() {
  cat <<TEXT
usage: setup/wheel.sh

Installs what the build needs (setup/setup.sh), builds in build/release, as ./test does, and makes in build/release/wheel:
  ripeline-VERSION-cp311-….whl   for Debian 12's Python
  ripeline-VERSION-cp312-….whl   for every Python from 3.12 on, if this machine has one with its headers
They run on Linux with glibc 2.34 or newer (RHEL 9, Ubuntu 22.04, Debian 12). To install one there, and use it:
  python3 -m venv .venv && .venv/bin/pip install ripeline-VERSION-….whl
  .venv/bin/ripeline check schedule.csv --placement chain

RIPELINE_PYTHON312   a Python from 3.12 on. Without it: one in PATH, of pyenv or of uv (now ${later:-none}).
TEXT
}
case "${1:-}" in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

bash "$root/setup/setup.sh"
configure release
build release wheel
[ -n "$later" ] || say "No wheel for Python 3.12 and later: no such Python with headers was found. RIPELINE_PYTHON312 names one."
ls "$root"/build/release/wheel/*.whl
