// Ledger: how much of each resource a rank's tasks hold, compared with the proved peak.
//
// It observes and never admits: the arbiter alone decides what may start. A start that exceeds a
// proved peak, or leaves less of a capacity free than its lane must leave, is a breach; so is a
// release of an amount that is not held. The status has the numbers. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/facts.h"
#include "core/status.h"

namespace ripeline::core {

class Ledger {
 public:
  // Watches the tasks of all ranks or, with less memory, those of one rank alone.
  explicit Ledger(const ProgramFacts& facts, std::optional<int> rank = std::nullopt);

  void begin_step();
  Status started(Task task) {
    for (std::size_t i = first_use_[row(task.lane)]; i < first_use_[row(task.lane) + 1]; ++i) {
      const Use& use = uses_[i];
      Pool& pool = pools_[use.pool];
      pool.held += use.acquires;
      pool.peak = std::max(pool.peak, pool.held);
      if (pool.held > use.most && use.acquires > 0) [[unlikely]]
        return too_much(task, use);
    }
    return {};
  }
  Status finished(Task task) {
    for (std::size_t i = first_use_[row(task.lane)]; i < first_use_[row(task.lane) + 1]; ++i) {
      Pool& pool = pools_[uses_[i].pool];
      pool.held -= uses_[i].releases;
      if (pool.held < 0) [[unlikely]]
        return not_held(task, pool);
    }
    return {};
  }
  // Whether each pool's capacity has room for a task of `lane` now; proved peaks are not compared.
  [[nodiscard]] bool has_room(LaneId lane) const;

  // The peak since construction, and the amount held now, in the resource's unit; 0 if not watched.
  [[nodiscard]] std::int64_t peak(int pool) const;
  [[nodiscard]] std::int64_t held(int pool) const;

 private:
  struct Use {
    std::size_t pool;  // index into pools_
    std::int64_t acquires;
    std::int64_t releases;
    std::int64_t most;  // the greatest amount that may be held after the start
    std::int64_t room;  // the same limit, by the capacity alone
  };
  struct Pool {
    int id;
    std::int64_t held = 0;
    std::int64_t peak = 0;
  };

  [[nodiscard]] const Pool* find(int pool) const;
  // These make the status of a breach; apart from the functions that detect it, which stay short.
  [[nodiscard]] Status too_much(Task task, const Use& use) const;
  [[nodiscard]] Status not_held(Task task, const Pool& pool) const;
  [[nodiscard]] std::size_t row(LaneId lane) const {
    return static_cast<std::size_t>(lane - first_lane_);
  }

  const ProgramFacts& facts_;
  LaneId first_lane_ = 0;
  std::vector<std::size_t> first_use_;  // per lane, and one past the last: where its uses_ begin
  std::vector<Use> uses_;
  std::vector<Pool> pools_;  // sorted by id
};

}  // namespace ripeline::core
