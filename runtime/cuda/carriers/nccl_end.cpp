#include "runtime/cuda/carriers/nccl_end.h"

#include <string>

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

Status NcclEnd::ready(std::uint64_t number) {
  if (number != ready_) {
    return {StatusCode::invalid, "message " + std::to_string(number) +
                                     " of an edge comes instead of message " +
                                     std::to_string(ready_)};
  }
  ++ready_;
  return {};
}

std::optional<std::uint64_t> NcclEnd::launch() {
  if (launched_ == ready_ || launched_ != ended_) return std::nullopt;
  return launched_++;
}

Status NcclEnd::ended() {
  if (!under_way()) return {StatusCode::invalid, "nothing of an edge is under way, and it ended"};
  ++ended_;
  return {};
}

std::optional<std::uint64_t> NcclEnd::under_way() const {
  if (launched_ == ended_) return std::nullopt;
  return ended_;
}

}  // namespace ripeline::runtime::cuda
