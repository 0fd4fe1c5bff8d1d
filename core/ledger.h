// Ledger: what a rank's tasks hold of each resource, beside the peak that was proved.
//
// It observes and never admits: the arbiter alone decides what may start. A start that goes above a
// proved peak, or leaves less of a capacity free than its lane must, is a breach; so is a release
// of what is not held. Reported with the numbers. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/facts.h"
#include "core/status.h"

namespace ripeline::core {

class Ledger {
 public:
  explicit Ledger(const ProgramFacts& facts);

  void begin_step();
  Status started(Task task);
  Status finished(Task task);

  // In the resource's unit, since construction; of a pool of this rank.
  [[nodiscard]] std::int64_t peak(int pool) const { return peak_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] std::int64_t held(int pool) const { return held_[static_cast<std::size_t>(pool)]; }

 private:
  const ProgramFacts& facts_;
  std::vector<std::size_t> first_use_;  // per lane, and one past the last: its span of facts_.uses
  std::vector<std::int64_t> most_;      // per use: what may be held after the start
  std::vector<std::int64_t> held_;      // per pool
  std::vector<std::int64_t> peak_;
};

}  // namespace ripeline::core
