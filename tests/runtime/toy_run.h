// A proved program, and its processes with the toy model as threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lower/facts.h"
#include "runtime/toy_work.h"
#include "runtime/worker.h"
#include "simulate/interpreter.h"
#include "verify/verify.h"

namespace ripeline::testing_support {

// Compiles and proves `text`, a program or the name of a library schedule; fails the test if that
// fails.
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
  runtime::Work* work;                    // the toy, or what the test puts before it
  runtime::process::RankOptions options;  // without a trace: `record`
  trace::Record record;
  runtime::BeforeTask before_task;
  std::chrono::nanoseconds silence = std::chrono::seconds(20);
  core::Status status;
  std::vector<runtime::process::StepReport> reports;
  std::vector<std::map<int, std::vector<double>>> gradients;  // per step, by stage
  std::vector<double> losses;
  std::vector<core::Task> started;  // in the last step
};

// Processes as threads. Members of a rank do the same, without collectives.
class ToyRun {
 public:
  ToyRun(const ProvedText& proved, runtime::ToyModel model);

  // By process.
  ToyRank& rank(int r) { return *ranks_[static_cast<std::size_t>(r)]; }
  // Until a rank fails or all steps are done; each transport ends with its rank.
  // If all are done, what they recorded must be a run of the program; fails the test if not.
  void run(int steps, int microbatches);
  // The part of one process of such a run, whose others are elsewhere.
  void run_one(int r, runtime::Transport& transport, int steps, int microbatches) {
    if (wrap) return run_rank(r, *wrap(transport), steps, microbatches);
    run_rank(r, transport, steps, microbatches);
  }
  // Makes the transports, by rank; network/local if it is not set.
  std::function<std::vector<std::unique_ptr<runtime::Transport>>(int ranks)> connect;
  // Puts a transport between those and the run. Null: none.
  std::function<std::unique_ptr<runtime::Transport>(runtime::Transport&)> wrap;
  // Tasks run in a thread of their own, not in that of their rank.
  bool in_engine_thread = false;
  // Another engine, by rank. Null: as above.
  std::function<std::unique_ptr<runtime::TaskEngine>(int rank, runtime::Run& run)> make_engine;

  // The gradients of all processes are bitwise those of the unpipelined model; fails the test if
  // not.
  void expect_reference(int steps, int microbatches) const;

 private:
  void run_rank(int r, runtime::Transport& transport, int steps, int microbatches);
  void expect_run(int microbatches) const;

  const ProvedText& proved_;
  runtime::ToyModel model_;
  std::vector<std::unique_ptr<ToyRank>> ranks_;
};

}  // namespace ripeline::testing_support
