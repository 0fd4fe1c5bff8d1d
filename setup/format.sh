#!/usr/bin/env bash
# format.sh CLANG-FORMAT [OPTION…]: lays out every source of the tree, or with --dry-run -Werror checks that it is laid out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=$1
shift
(($#)) || set -- -i
# Goldens are the generator's text, not ours to lay out.
find core trace spec verify codegen simulate view runtime cli tests proptests fuzz bench examples docs \
  -path '*/goldens' -prune -o \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 "$tool" "$@"
