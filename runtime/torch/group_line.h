// Group::Line: the c10d communicator behind a group. Only groups.cpp and group.cpp see c10d.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/torch/group.h"

namespace ripeline::runtime {

class Group::Line {
 public:
  // `name` is for messages.
  Line(std::string name, c10::intrusive_ptr<c10d::Backend> backend)
      : name_(std::move(name)), backend_(std::move(backend)) {}
  // Leaves a communicator to the end of the process if it is still in a call that was given up: it
  // would wait for that call.
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  [[nodiscard]] int self() const { return backend_->getRank(); }
  [[nodiscard]] int size() const { return backend_->getSize(); }
  void reduce(torch::Tensor& tensor, c10d::ReduceOp::RedOpType op);
  // From any thread: a call that waits is given up, and so is every later one.
  void close();

 private:
  // Of one call; its end is told by a thread of the communicator.
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    bool closed = false;
  };

  const std::string name_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  bool given_up_ = false;  // a call; there is no other after it
};

}  // namespace ripeline::runtime
