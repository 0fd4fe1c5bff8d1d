// The arithmetic of NCCL's kernels that reduce.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace fake_gpu {

[[nodiscard]] std::size_t size_of(ncclDataType_t type);  // 0: not in the fake
// Whether the fake can do it.
[[nodiscard]] bool can_reduce(ncclDataType_t type, ncclRedOp_t operation);
// Element by element, in the order of the inputs, which are as long as the result.
void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            std::vector<std::byte>& result);

}  // namespace fake_gpu
