// Witness: sees all that the ranks of one program do, and reports the first mistake.
//
// Each start, end and arrival must be one that spec/machine.h allows at that time. Each task is
// called once, with the payloads of exactly those tasks that it needs. A ledger holds what the
// machine holds. When all ranks have finished a step, no payload of the step is stored anywhere. A
// witness knows nothing of processes, time or faults. Each program of a run has its own witness.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/ledger.h"
#include "core/owned_facts.h"
#include "runtime/engine.h"
#include "spec/machine.h"
#include "tests/joint/planted_bug.h"

namespace ripeline::joint {

class Witness {
 public:
  // The program is borrowed. The ranks get its facts, which `bug` may change.
  Witness(const spec::Program& program, int microbatches, int number, PlantedBug& bug);
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  [[nodiscard]] const core::ProgramFacts& facts() const { return changed_.facts(); }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  // The arbiter of a rank: the interpreter, which reports its events to this witness.
  [[nodiscard]] std::unique_ptr<core::Arbiter> arbiter(int rank);

  // Called with each call that the rank wants to run.
  void called(const runtime::Call& call);
  // Fills the call's outputs, which are the same for a task whenever it runs.
  void give(runtime::Call& call);
  void holds(int rank, std::int64_t step, const core::Ledger& ledger);
  void done(int rank, std::int64_t step);
  // Allows messages after their step, since a faulty process repeats some of its messages.
  void expect_repeats() { repeats_ = true; }

  // The first problem, or empty.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Whether all ranks have begun this step, and the machine cannot continue in it.
  [[nodiscard]] bool is_stuck() const;
  [[nodiscard]] bool is_done(int steps) const;
  [[nodiscard]] std::int64_t last_step() const {
    return static_cast<std::int64_t>(steps_.size()) - 1;
  }

 private:
  using TaskKey = std::pair<core::LaneId, std::int32_t>;
  using MessageKey = std::pair<core::EdgeId, std::int32_t>;
  struct Step {
    spec::Machine::State state;
    std::set<TaskKey> called;
    std::set<int> done;             // ranks
    std::shared_ptr<int> payloads;  // shared by all payloads that exist
  };

  Step& of(std::int64_t step);
  void happen(std::int64_t step, const spec::Event& event);
  void fail(const std::string& what);
  [[nodiscard]] std::string name(core::Task task) const;

  const spec::Program& program_;
  core::OwnedFacts true_;
  core::OwnedFacts changed_;
  spec::Machine machine_;
  int microbatches_;
  int number_;
  std::vector<Step> steps_;
  std::string problem_;
  bool repeats_ = false;
};

}  // namespace ripeline::joint
