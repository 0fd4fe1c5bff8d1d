#!/usr/bin/env bash
# setup/absent_cuda.sh FOLDER: lets Python import the PyTorch in FOLDER, a CUDA build, without a GPU and without the 2 GB of CUDA libraries.
#
# PyTorch loads these libraries when it is imported, but calls none of them unless there is a GPU. An empty library in torch/lib takes the
# place of each one that FOLDER lacks; one of them defines all their functions, which end the process with a message.
set -euo pipefail

[ $# = 1 ] || { echo "usage: setup/absent_cuda.sh FOLDER" >&2; exit 2; }
cd "$1"
[ ! -e torch/lib/libcudnn.so.9 ] || exit 0
loaded=(torch/lib/libtorch_python.so torch/lib/libtorch_cuda.so torch/lib/libtorch_nvshmem.so)
part=$(mktemp -d absent-XXXXXX)
trap 'rm -rf "$part"' EXIT

# Every library named for CUDA, NCCL or NVSHMEM that is not there, and every name in them that no library that is there defines.
libraries=$(readelf -d "${loaded[@]}" | sed -nE 's/.*\(NEEDED\).*\[(lib(cu|nccl|nv)[^]]*)\]/\1/p' | sort -u)
here=$(find nvidia torch/lib -name 'lib*.so*' -type f)
# shellcheck disable=SC2086  # lists of names
defined() { nm -D --defined-only $here 2>/dev/null | awk 'NF == 3 {sub(/@.*/, "", $3); print $3}' | sort -u; }
undefined() { nm -D --undefined-only "${loaded[@]}" | awk 'NF == 2 {sub(/@.*/, "", $2); print $2}' | sort -u; }
names=$(comm -23 <(undefined) <(defined) | grep -E '^(cublas|cudnn|cufft|cuFile|curand|cusparse|nccl|nvrtc|nvshmem)')

{
  cat <<'TEXT'
#include <stdio.h>
#include <stdlib.h>
static void absent(void) __attribute__((used, noreturn));
static void absent(void) {
  fputs("PyTorch called a CUDA library, which setup/setup.sh does not install: use a PyTorch that pip installed.\n", stderr);
  abort();
}
TEXT
  for name in $names; do printf '__asm__(".globl %s\\n.type %s, @function\\n.set %s, absent");\n' "$name" "$name" "$name"; done
} >"$part/absent.c"
for library in $libraries; do
  [ -z "$(find nvidia torch/lib -name "$library")" ] || continue
  source=/dev/null
  [ "$library" != libcudnn.so.9 ] || source=$part/absent.c
  cc -shared -fPIC -Wl,-soname,"$library" -o "$part/$library" -x c "$source"
done
# The library with the functions comes last: where it is, all are.
mv "$part/libcudnn.so.9" "$part/last"
mv "$part"/lib*.so* torch/lib/
mv "$part/last" torch/lib/libcudnn.so.9
