// NCCL's plug-in on the fake, linked into the program instead of loaded. When the process ends, it
// reports how many communicators are left.
#include <cstdio>

#include "runtime/cuda/nccl/load_nccl.h"
#include "tests/fake_gpu/fake_nccl.h"
#include "tests/nccl/fake_library.h"

namespace ripeline::runtime::cuda {

core::Status load_nccl(const NcclLibrary*& library) {
  library = &testing_support::fake_nccl();
  return {};
}

}  // namespace ripeline::runtime::cuda

namespace {

struct Left {
  Left() = default;
  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;
  ~Left() {
    const int left = fake_gpu::communicators();
    if (left > 0) std::fprintf(stderr, "fake device misused: %d communicators are left\n", left);
  }
};
const Left kLeft;

}  // namespace
