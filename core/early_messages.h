// EarlyMessages: what has come for later steps, until those begin.
//
// However much it is, keeping one more and refusing what came twice takes the logarithm of it: a
// neighbour that runs ahead must not slow this rank down. Memory is taken for each. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/task.h"

namespace ripeline::core {

// What comes from another rank.
struct IncomingMessage {
  Message message;
  std::int32_t ordinal = 0;
  bool announced = false;  // else arrived
};

class EarlyMessages {
 public:
  // False: the same has come before for this step, which changes nothing.
  [[nodiscard]] bool keep(std::int64_t step, const IncomingMessage& early);
  // Of the step, in the order in which they came.
  [[nodiscard]] std::span<const IncomingMessage> of(std::int64_t step) const;
  // Of the step and those before it.
  void drop(std::int64_t step);

 private:
  struct OfStep {
    std::vector<IncomingMessage> messages;
    std::set<std::uint64_t> known;
  };
  std::map<std::int64_t, OfStep> steps_;
};

}  // namespace ripeline::core
