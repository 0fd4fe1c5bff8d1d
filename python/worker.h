// Worker: this process's rank of a run of training, whose tasks Python runs.
//
// The programs of the run are proved, and take turns: each step is a step of one of them. The first
// is the one that trains. RIPELINE_TRACE writes a trace of its steps, and RIPELINE_DELAY injects
// delays into those of all programs (runtime/instruments.h). The thread that computes makes all
// calls, without Python's lock; during a step a helper thread moves messages (runtime/pump.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/owned_facts.h"
#include "core/status.h"
#include "python/verdict.h"
#include "runtime/network/store.h"
#include "runtime/protocol/rank.h"
#include "runtime/pump.h"
#include "runtime/run.h"
#include "runtime/transport.h"
#include "simulate/table_arbiter.h"

namespace ripeline::python {

// The run has failed: a peer was lost, a rank's task raised an exception, a wait reached its limit.
// Python sees it as `ripeline.torch.RunFailed`.
class RunFailure : public std::runtime_error {
 public:
  explicit RunFailure(const core::Status& status) : std::runtime_error(status.message()) {}
};

// Where and as what a process joins a run.
struct Joining {
  int rank = 0;
  int ranks = 1;
  std::string folder;  // the run's, on the host of all ranks; or empty
  // For ranks on several hosts: where they find each other, and the numeric address at which the
  // others reach this host. If that is empty, it is the address that leads to the host `towards`.
  std::shared_ptr<runtime::network::Store> store;
  std::string address, towards;
  bool traces = true;  // whether RIPELINE_TRACE concerns this run
  double connect_seconds = 30;
  double silence_seconds = 30;  // the longest without a sign of life of a rank
  double stall_seconds = 600;   // the longest in which nothing happens, longer than any task
};

// Tasks of one op at one stage of this rank.
struct Lane {
  std::string op;
  std::string kind;  // forward, backward, backward_input, backward_weight, …
  int stage = 0;
  // The other stages to which a task gives values, in the order of its outputs that carry any.
  std::vector<int> outputs;
};

// Whether tasks of the producer give values to those of the consumer, at another stage.
[[nodiscard]] bool carries(core::OpKind producer, core::OpKind consumer);

class Worker {
 public:
  // Connects with the other ranks. Throws Failure if a program is not proved, or does not fit the
  // others or the number of ranks, and RunFailure if the ranks do not find each other.
  Worker(const std::vector<Verdict>& programs, const Joining& joining);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Throws Failure, before ranks meet, if what the environment asks for cannot be done with the
  // program that trains.
  static void check_environment(const Verdict& trains);

  [[nodiscard]] int rank() const { return run_->self(); }
  // By number; those of other ranks are default.
  [[nodiscard]] std::vector<Lane> lanes(std::size_t program) const;

  // Begins a step of a program. If the step before was another program's, waits until all ranks are
  // done with that one.
  void begin(std::size_t program, int microbatches);
  [[nodiscard]] runtime::Pump& pump() { return *pump_; }
  // Called before each task that the pump gives: sleeps for the delay that is injected into it.
  void before_task(const runtime::TaskInfo& task) const;
  // Makes the run fail, on all ranks, and returns why it has failed.
  [[nodiscard]] std::string fail(const std::string& why);
  // Leaves the run, once all ranks do, or after some seconds in any case.
  void leave(double seconds);
  // For a child of a fork, which may do nothing else with this object, not even destroy it.
  void close_in_child() { transport_->close_in_child(); }

 private:
  struct Part;

  std::vector<std::unique_ptr<Part>> parts_;  // by program
  std::unique_ptr<runtime::Transport> transport_;
  std::unique_ptr<runtime::Run> run_;
  std::unique_ptr<runtime::Pump> pump_;
  std::size_t program_ = 0;  // the program of the last step
};

}  // namespace ripeline::python
