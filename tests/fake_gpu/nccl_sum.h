// The arithmetic of NCCL's reducing kernels.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace fake_gpu {

[[nodiscard]] std::size_t size_of(ncclDataType_t type);  // 0 if the fake lacks this type
// Whether the fake supports this reduction.
[[nodiscard]] bool can_reduce(ncclDataType_t type, ncclRedOp_t operation);
// Reduces element by element, in the order of the inputs; the result is as long as each input.
void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            std::vector<std::byte>& result);

}  // namespace fake_gpu
