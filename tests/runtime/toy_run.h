// A proved program, and a run of it on the toy model with processes as threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "runtime/run.h"
#include "runtime/toy_work.h"
#include "simulate/interpreter.h"
#include "verify/verify.h"

namespace ripeline::testing_support {

// Compiles and proves `text`, which is a program or the name of a library schedule. Fails the test
// if that is impossible.
class ProvedText {
 public:
  ProvedText(const std::string& text, int ranks);
  [[nodiscard]] const spec::Program& program() const { return verdict_.proved->program(); }
  [[nodiscard]] const core::ProgramFacts& facts() const { return facts_->facts(); }

 private:
  verify::Verdict verdict_;
  std::unique_ptr<core::OwnedFacts> facts_;
};

// One process of a run: its settings and its results.
struct ToyRank {
  explicit ToyRank(const runtime::ToyModel& model) : toy(model), work(&toy) {}
  runtime::ToyWork toy;
  runtime::Work* work;                     // the toy model, or the work in which the test wraps it
  runtime::protocol::RankOptions options;  // the trace is set by `record` instead
  trace::Record record;
  runtime::BeforeTask before_task;
  std::chrono::nanoseconds silence = std::chrono::seconds(20);
  core::Status status;
  std::vector<runtime::protocol::StepReport> reports;
  std::vector<std::map<int, std::vector<double>>> gradients;  // per step, by stage
  std::vector<double> losses;
  std::vector<core::Task> started;  // the tasks started in the last step
};

// Runs processes as threads. All members of a rank do the same work, without collectives.
class ToyRun {
 public:
  ToyRun(const ProvedText& proved, runtime::ToyModel model);

  // `r` is the number of a process, not of a rank.
  ToyRank& rank(int r) { return *ranks_[static_cast<std::size_t>(r)]; }
  // Runs until a rank fails or all steps have ended; each transport ends with its rank. If all
  // steps have ended, the test fails unless the recorded tasks are a run of the program.
  void run(int steps, int microbatches);
  // Runs one process of a run whose other processes are run elsewhere.
  void run_one(int r, runtime::Transport& transport, int steps, int microbatches) {
    if (wrap) return run_rank(r, *wrap(transport), steps, microbatches);
    run_rank(r, transport, steps, microbatches);
  }
  // Makes the transports, by rank. If null, network/local makes them.
  std::function<std::vector<std::unique_ptr<runtime::Transport>>(int ranks)> connect;
  // Wraps another transport around the transport of each process. May be null.
  std::function<std::unique_ptr<runtime::Transport>(runtime::Transport&)> wrap;
  // Whether tasks run in a separate thread instead of their rank's thread.
  bool in_engine_thread = false;
  // Makes a rank's engine. If null, `in_engine_thread` decides which engine the rank has.
  std::function<std::unique_ptr<runtime::TaskEngine>(int rank, runtime::Run& run)> make_engine;

  // Fails the test unless the gradients of all processes are bitwise those of the unpipelined
  // model.
  void expect_reference(int steps, int microbatches) const;

 private:
  void run_rank(int r, runtime::Transport& transport, int steps, int microbatches);
  void expect_run(int microbatches) const;

  const ProvedText& proved_;
  runtime::ToyModel model_;
  std::vector<std::unique_ptr<ToyRank>> ranks_;
};

}  // namespace ripeline::testing_support
