// Group::Communicator: the connection over which the processes of a group add up tensors. There are
// two kinds: gloo_communicator.h adds up on the host, nccl_communicator.h between devices.
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

class Group::Communicator {
 public:
  enum class Operation : std::uint8_t { sum, maximum };

  Communicator(int self, int size) : self_(self), size_(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int size() const { return size_; }
  // Like Group::sum. Throws GroupFailed; any other exception is due to a mistake of the caller.
  virtual void reduce(torch::Tensor& tensor, Operation operation) = 0;
  // Makes a call that waits, and every later call, fail. May be called from any thread.
  virtual void close() = 0;

 private:
  const int self_;
  const int size_;
};

// The plan of a communicator that this process is to connect.
struct CommunicatorPlan {
  enum class Among : std::uint8_t { members, replicas } among = Among::members;
  core::Engine engine = core::Engine::compute;
  std::string name;  // the same at all its processes, and unique among communicators
  int self = 0;
  int size = 1;
};

// Makes a plan for each engine on which the members of a rank have collectives, and for each on
// which replicas reduce. All processes of a rank connect their communicators in this order,
// whichever other processes those include, so that no two processes wait for each other.
[[nodiscard]] std::vector<CommunicatorPlan> plan_communicators(const core::Layout& layout,
                                                               int process,
                                                               const core::ProgramFacts& facts);

// The communicators, in the order of their plans.
using Communicators = std::vector<std::shared_ptr<Group::Communicator>>;

}  // namespace ripeline::runtime
