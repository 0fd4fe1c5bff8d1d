// Group::Line: how the processes of a group add up tensors. There are two: gloo_line.h, over the
// host, and nccl_line.h, between devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/layout.h"
#include "core/status.h"
#include "runtime/torch/group.h"

namespace ripeline::runtime {

class Group::Line {
 public:
  enum class Operation : std::uint8_t { sum, maximum };

  Line(int self, int size) : self_(self), size_(size) {}
  virtual ~Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int size() const { return size_; }
  // As Group::sum says. Throws GroupFailed; what else it throws is the caller's mistake.
  virtual void reduce(torch::Tensor& tensor, Operation operation) = 0;
  // From any thread: a call that waits is given up, and so is every later one.
  virtual void close() = 0;

 private:
  const int self_;
  const int size_;
};

// A line of this process that is to be.
struct LinePlan {
  enum class Among : std::uint8_t { members, replicas } among = Among::members;
  core::Engine engine = core::Engine::compute;
  std::string name;  // the same at all of its processes, and no other's
  int self = 0;
  int size = 1;
};

// One for each engine on which the members of a rank have collectives, and for each on which
// replicas reduce. All processes of a rank connect theirs in this order, whoever else is in them:
// so nobody waits for one who waits for him.
[[nodiscard]] std::vector<LinePlan> plan_lines(const core::Layout& layout, int process,
                                               const core::ProgramFacts& facts);

// By plan.
using ConnectedLines = std::vector<std::shared_ptr<Group::Line>>;

}  // namespace ripeline::runtime
