#include "runtime/torch/group.h"

#include "runtime/torch/communicator.h"

namespace ripeline::runtime {

int Group::self() const { return communicator_ ? communicator_->self() : 0; }
int Group::size() const { return communicator_ ? communicator_->size() : 1; }

void Group::sum(torch::Tensor& tensor) const {
  if (communicator_) communicator_->reduce(tensor, Communicator::Operation::sum);
}

void Group::maximum(torch::Tensor& tensor) const {
  if (communicator_) communicator_->reduce(tensor, Communicator::Operation::maximum);
}

}  // namespace ripeline::runtime
