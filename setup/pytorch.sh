#!/usr/bin/env bash
# setup/pytorch.sh FOLDER: a Python with PyTorch, of the version that is linked, for the tests pytorch.schedules and pytorch.traces. Several GB; nothing else needs it.
#   RIPELINE_PYTORCH=FOLDER/bin/python3 ctest --test-dir build/release -R pytorch
set -euo pipefail
# shellcheck source=setup/steps.sh
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

[ $# = 1 ] || fail "usage: setup/pytorch.sh FOLDER"
version=$(entries "$root/setup/wheels.txt" | sed -n 's/^torch==\([^ ]*\).*/\1/p')
python3 -m venv "$1" || fail "Debian's python3-venv makes it: apt-get install python3-venv"
step "PyTorch $version" "$cache/log/pytorch.log" "$1/bin/pip" install "torch==$version"
say "$1/bin/python3"
