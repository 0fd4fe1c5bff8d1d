// Group: some processes of a run that add up tensors, such as the members of a tensor-parallel
// rank. Its communicator is one of c10d or of NCCL.
//
// All its processes make the same calls in the same order, one at a time; a call returns when all
// have made it, and the result is bitwise the same for all. A default-constructed Group has one
// process and adds nothing. A call throws GroupFailed if it cannot end because a process is gone,
// the limit is over, or the groups were closed (runtime/torch/groups.h). Copies are the same group.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/types.h>

#include <memory>
#include <stdexcept>

namespace ripeline::runtime {

class GroupFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Group {
 public:
  class Communicator;  // runtime/torch/communicator.h

  Group() = default;
  explicit Group(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  [[nodiscard]] int self() const;  // 0 .. size() - 1
  [[nodiscard]] int size() const;
  // sum() and maximum() change the tensor in place, element by element.
  void sum(torch::Tensor& tensor) const;
  void maximum(torch::Tensor& tensor) const;

 private:
  std::shared_ptr<Communicator> communicator_;
};

}  // namespace ripeline::runtime
