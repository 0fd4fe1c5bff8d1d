// Group: some processes of a run that add up tensors, such as the members of a tensor-parallel
// rank: a communicator of c10d.
//
// All its processes make the same calls in the same order, one at a time; a call returns when all
// have made it, and the result is bitwise the same for all. What is made of none is a group of one
// process, which adds nothing. A call that cannot end throws GroupFailed: a process is gone, the
// limit is over, or the groups were closed (runtime/torch/groups.h). Copies are the same group.
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
  class Line;  // runtime/torch/group_line.h

  Group() = default;
  explicit Group(std::shared_ptr<Line> line) : line_(std::move(line)) {}

  [[nodiscard]] int self() const;  // 0 .. size() - 1
  [[nodiscard]] int size() const;
  // In place, element by element.
  void sum(torch::Tensor& tensor) const;
  void maximum(torch::Tensor& tensor) const;

 private:
  std::shared_ptr<Line> line_;
};

}  // namespace ripeline::runtime
