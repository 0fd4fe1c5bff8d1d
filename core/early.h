// Early: messages and ballots that have arrived for later steps, kept until those steps begin.
//
// Storing an item, or refusing one that arrives twice, takes time logarithmic in their number; so a
// neighbour that runs ahead does not slow this rank down. Each item takes memory. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/agreement.h"
#include "core/task.h"

namespace ripeline::core {

// A message from another rank, or its announcement.
struct IncomingMessage {
  Message message;
  std::int32_t ordinal = 0;
  bool announced = false;  // if false, it has arrived

  [[nodiscard]] auto key() const { return std::tuple(message.edge, message.microbatch, announced); }
};

// A ballot from another member of the rank, or from another replica.
struct IncomingBallot {
  int member = 0;
  Ballot ballot;

  [[nodiscard]] auto key() const {
    return std::tuple(member, ballot.engine, ballot.round, ballot.attempt);
  }
};

template <class Incoming>
class Early {
 public:
  // Returns false, and changes nothing, if the same item has arrived for this step before.
  [[nodiscard]] bool keep(std::int64_t step, const Incoming& early) {
    OfStep& kept = steps_[step];
    if (!kept.known.insert(early.key()).second) return false;
    kept.all.push_back(early);
    return true;
  }
  // All items that have arrived for the step, in the order of their arrival.
  [[nodiscard]] std::span<const Incoming> of(std::int64_t step) const {
    const auto found = steps_.find(step);
    return found == steps_.end() ? std::span<const Incoming>{} : found->second.all;
  }
  // Forgets the items of the step and of earlier steps.
  void drop(std::int64_t step) { steps_.erase(steps_.begin(), steps_.upper_bound(step)); }

 private:
  struct OfStep {
    std::vector<Incoming> all;
    std::set<decltype(std::declval<Incoming>().key())> known;
  };
  std::map<std::int64_t, OfStep> steps_;
};

}  // namespace ripeline::core
