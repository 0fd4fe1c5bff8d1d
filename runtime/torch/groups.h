// Groups: the communicators of a run, over c10d's Gloo, and who is in them.
//
//   std::unique_ptr<Groups> groups;
//   Groups::connect(run, facts, environment.address, groups);
//   ColumnParallelLinear linear(whole, groups->members());
//
// The members of a rank have a communicator for each engine on which they have collectives, as
// docs/meaning.md assumes; so have the replicas of a rank for each engine on which they reduce.
// Gloo asks nobody who connects for a token: name an interface of a network that you trust.
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

struct GroupOptions {
  // The longest that a process waits for the others in a call: longer than any task takes.
  std::chrono::milliseconds limit = std::chrono::minutes(10);
  // And when it connects.
  std::chrono::milliseconds connect_limit = std::chrono::seconds(30);
};

class Groups {
 public:
  // All processes of the run call it, before their first step; it returns when all are connected,
  // or as soon as the run has failed. Then a thread that waits for a process that is gone may stay
  // behind, for several times the limit.
  // `address` is by which the others reach this host; empty: they are all on it.
  static core::Status connect(Run& run, const core::ProgramFacts& facts, const std::string& address,
                              std::unique_ptr<Groups>& groups, const GroupOptions& options = {});
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Of this process's rank; of one process where ranks have one member. Throws
  // std::invalid_argument if there are several, and no task on the engine has collectives.
  [[nodiscard]] Group members(core::Engine engine = core::Engine::compute) const;
  // Of the same stages in all replicas, for the reductions on that engine. Likewise.
  [[nodiscard]] Group replicas(core::Engine engine = core::Engine::comm) const;
  // Whoever waits in one fails at once, and so does every later call: the run has failed. From any
  // thread.
  void close();

 private:
  Groups() = default;

  using Lines = std::array<std::shared_ptr<Group::Line>, core::kEngines>;  // null: there is none

  core::Layout layout_;
  Lines members_;
  Lines replicas_;
};

}  // namespace ripeline::runtime
