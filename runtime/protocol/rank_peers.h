// RankPeers: the processes with which a rank exchanges messages. It knows which step each has
// begun, and checks what they send before it is used.
//
// A message must come from the rank at the other end of its edge, and belong to the present step or
// the next one. At the beginning of a step the processes report how many microbatches they have in
// it; those that differ are refused. A message that no correct peer sends is `invalid`. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/agreement.h"
#include "core/facts.h"
#include "core/layout.h"
#include "runtime/transport.h"

namespace ripeline::runtime::protocol {

class RankPeers {
 public:
  // The facts are borrowed.
  RankPeers(const core::ProgramFacts& facts, const core::Layout& layout, int self);

  // The process at the other end of a message, given the lane at that end.
  [[nodiscard]] int process_of(core::LaneId lane) const;
  // The processes that send to this one, and must be told that it has begun a step.
  [[nodiscard]] const std::set<int>& senders() const { return senders_; }
  // The processes that agree with this one on what starts on the engine.
  [[nodiscard]] const std::vector<int>& agreeing(core::Engine engine) const {
    return agreeing_[static_cast<std::size_t>(engine)];
  }

  void begin_step(std::int64_t step, int microbatches);
  core::Status accept_begun(int from, const signals::Begun& begun);
  // have_begun() is true if all processes to which this one sends have begun the step. So nobody
  // keeps messages of more than the next step. behind() returns those that have not begun it.
  [[nodiscard]] bool have_begun(std::int64_t step) const;
  [[nodiscard]] std::vector<int> behind(std::int64_t step) const;

  [[nodiscard]] core::Status check_sender(int from, const Signal& signal, core::EdgeId edge) const;
  // `present` is the executor's step, or -1 before the first.
  [[nodiscard]] core::Status check_step(int from, std::int64_t step, std::int64_t present) const;
  // Refuses a different number of microbatches in the step that begins: the rank with more would
  // wait for messages that nobody sends.
  [[nodiscard]] core::Status check_count(int process, std::int64_t step, int microbatches) const;
  // Makes the same check for all processes that have begun the step earlier.
  [[nodiscard]] core::Status check_counts() const;
  // Reads a ballot; refuses a malformed one, or one from a process with nothing to agree on.
  core::Status accept_ballot(int from, std::int64_t step, std::int64_t present,
                             const Payload& payload, core::Ballot& ballot) const;

 private:
  // The latest step that a process has reported to have begun, and the number of its microbatches.
  struct Begun {
    std::int64_t step = -1;
    std::int32_t microbatches = -1;  // -1 if not reported
  };

  const core::ProgramFacts& facts_;
  core::Layout layout_;
  int self_;
  std::int64_t step_ = -1;  // the present step, or the one that is to begin
  int microbatches_ = 0;
  std::map<int, Begun> begun_by_;  // by process to which this one sends
  std::set<int> senders_;
  std::array<std::vector<int>, core::kEngines> agreeing_;
};

}  // namespace ripeline::runtime::protocol
