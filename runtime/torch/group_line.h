// Group::Line: the connection over which the processes of a group add up tensors. There are two
// kinds: gloo_line.h adds up on the host, nccl_line.h between devices.
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
  // As for Group::sum. Throws GroupFailed; any other exception is due to a mistake of the caller.
  virtual void reduce(torch::Tensor& tensor, Operation operation) = 0;
  // May be called from any thread. A call that waits is given up, and so is every later call.
  virtual void close() = 0;

 private:
  const int self_;
  const int size_;
};

// The plan of a line that this process is to connect.
struct LinePlan {
  enum class Among : std::uint8_t { members, replicas } among = Among::members;
  core::Engine engine = core::Engine::compute;
  std::string name;  // the same at all processes of the line; no other line has it
  int self = 0;
  int size = 1;
};

// A plan for each engine on which the members of a rank have collectives, and for each on which
// replicas reduce. All processes of a rank connect their lines in this order, whichever others are
// in a line, so that no two processes wait for each other.
[[nodiscard]] std::vector<LinePlan> plan_lines(const core::Layout& layout, int process,
                                               const core::ProgramFacts& facts);

// The lines, in the order of their plans.
using ConnectedLines = std::vector<std::shared_ptr<Group::Line>>;

}  // namespace ripeline::runtime
