#!/usr/bin/env bash
# format.sh CLANG-FORMAT [OPTION…]: lays out every source of the tree, or with --dry-run -Werror checks that it is laid out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=$1
shift
(($#)) || set -- -i
# Found, so that a new folder is not forgotten. What is built is no source; goldens are the generator's text, not ours to lay out.
find . -mindepth 1 \( -path ./build -o -name '.*' -o -name goldens \) -prune \
  -o -type f \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 "$tool" "$@"
