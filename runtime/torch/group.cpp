#include "runtime/torch/group.h"

#include "runtime/torch/group_line.h"

namespace ripeline::runtime {

int Group::self() const { return line_ ? line_->self() : 0; }
int Group::size() const { return line_ ? line_->size() : 1; }

void Group::sum(torch::Tensor& tensor) const {
  if (line_) line_->reduce(tensor, Line::Operation::sum);
}

void Group::maximum(torch::Tensor& tensor) const {
  if (line_) line_->reduce(tensor, Line::Operation::maximum);
}

}  // namespace ripeline::runtime
