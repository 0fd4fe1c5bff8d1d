// Groups: the communicators of a run, and the processes in each.
//
//   std::unique_ptr<Groups> groups;
//   Groups::connect(run, facts, environment.address, groups, {.device = device.get()});
//   ColumnParallelLinear linear(whole, groups->members());
//
// The members of a rank have a communicator for each engine on which they have collectives, as
// docs/meaning.md assumes; the replicas of a rank have one for each engine on which they reduce.
// Communicators are of c10d's Gloo, or of NCCL if stages are on devices and all processes can use
// NCCL (docs/runtime.md, Tensor parallelism). Neither library authenticates other processes: choose
// an interface of a network that you trust.
//
// Destroy groups only after close(), or after a gather of the run that follows the last task, such
// as TorchTrainer::update's. Otherwise calls that run in other processes may never end.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "core/facts.h"
#include "core/layout.h"
#include "core/status.h"
#include "runtime/run.h"
#include "runtime/torch/group.h"

namespace ripeline::runtime {

class TorchDevice;

struct GroupOptions {
  // The longest that a process waits for the others in a call; must be longer than any task takes.
  // Over NCCL no call waits, and the run's limits on its tasks apply instead.
  std::chrono::milliseconds limit = std::chrono::minutes(10);
  // The longest wait while connecting.
  std::chrono::milliseconds connect_limit = std::chrono::seconds(30);
  // The model's device, borrowed; null for the host's processor.
  TorchDevice* device = nullptr;
};

class Groups {
 public:
  // All processes of the run call this before their first step. It returns when all are connected,
  // or as soon as the run has failed. After a failure, a thread that waits for a process that is
  // gone may stay behind for several times the limit, or in NCCL until this process ends.
  // `address` is the address of this host for the others; empty if all processes are on one host.
  static core::Status connect(Run& run, const core::ProgramFacts& facts, const std::string& address,
                              std::unique_ptr<Groups>& groups, const GroupOptions& options = {});
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // The members of this process's rank; just this process if ranks have one member. Throws
  // std::invalid_argument if ranks have several members and no task on the engine has collectives.
  [[nodiscard]] Group members(core::Engine engine = core::Engine::compute) const;
  // The processes with the same stages in all replicas, for the engine's reductions. Also throws.
  [[nodiscard]] Group replicas(core::Engine engine = core::Engine::comm) const;
  // Names, for people, the library that adds up tensors on devices, the reason, and assumptions:
  // "gloo (processes 0 and 1 share a GPU)". Empty for the host's processor, or without groups.
  [[nodiscard]] const std::string& collectives() const { return collectives_; }
  // Makes every call that waits in a group, and every later call, fail at once; for a run that has
  // failed. May be called from any thread.
  void close();

 private:
  Groups() = default;

  using PerEngine =
      std::array<std::shared_ptr<Group::Communicator>, core::kEngines>;  // null if there is none

  core::Layout layout_;
  PerEngine members_;
  PerEngine replicas_;
  std::string collectives_;
};

}  // namespace ripeline::runtime
