#include "runtime/torch/group.h"

#include "runtime/torch/group_line.h"

namespace ripeline::runtime {
namespace {

// All communicators of a process write to c10d's one flight recorder, in part without its lock, and
// members and replicas are asked by different threads. The call does not wait for the others.
c10::intrusive_ptr<c10d::Work> begin(c10d::Backend& backend, std::vector<torch::Tensor>& tensors,
                                     const c10d::AllreduceOptions& options) {
  static std::mutex of_all;
  const std::lock_guard lock(of_all);
  return backend.allreduce(tensors, options);
}

}  // namespace

int Group::self() const { return line_ ? line_->self() : 0; }
int Group::size() const { return line_ ? line_->size() : 1; }

void Group::sum(torch::Tensor& tensor) const {
  if (line_) line_->reduce(tensor, c10d::ReduceOp::SUM);
}

void Group::maximum(torch::Tensor& tensor) const {
  if (line_) line_->reduce(tensor, c10d::ReduceOp::MAX);
}

Group::Line::~Line() {
  if (given_up_) (void)backend_.release();
}

void Group::Line::close() {
  {
    const std::lock_guard lock(waiting_->mutex);
    waiting_->closed = true;
  }
  waiting_->changed.notify_all();
}

void Group::Line::reduce(torch::Tensor& tensor, c10d::ReduceOp::RedOpType op) {
  const c10::InferenceMode no_graph;
  {
    const std::lock_guard lock(waiting_->mutex);
    if (waiting_->closed) throw GroupFailed(name_ + " was closed");
    waiting_->done = false;
  }
  // Gloo has the host's memory: of a tensor on a device that is a copy, which the host waits for.
  std::vector<torch::Tensor> dense{tensor.cpu().contiguous()};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  // What it refuses at once is the caller's mistake.
  const auto work = begin(*backend_, dense, options);
  work->getFuture()->addCallback([waiting = waiting_](auto&) {
    const std::lock_guard lock(waiting->mutex);
    waiting->done = true;
    waiting->changed.notify_all();
  });
  {
    std::unique_lock lock(waiting_->mutex);
    waiting_->changed.wait(lock, [&] { return waiting_->done || waiting_->closed; });
    given_up_ = !waiting_->done;
  }
  if (given_up_) throw GroupFailed(name_ + " was closed");
  try {
    work->wait();
  } catch (const c10::Error& error) {
    throw GroupFailed(name_ + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw GroupFailed(name_ + ": " + error.what());
  }
  if (!dense[0].is_same(tensor)) tensor.copy_(dense[0]);
}

}  // namespace ripeline::runtime
