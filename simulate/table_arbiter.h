// TableArbiter: an arbiter for a program that was never compiled.
//
// It evaluates the rules of a generated header, from the elaborated program: it takes room from the
// facts' uses, orders from spec's expansion, and priorities from the program's expressions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rule_arbiter.h"
#include "core/rules.h"
#include "spec/priority.h"
#include "spec/program.h"

namespace ripeline::simulate {

// The rules that core/rules.h needs. Program and facts are borrowed and must outlive this object.
class ProgramRules : public core::FreeRules {
 public:
  ProgramRules(const spec::Program& program, const core::ProgramFacts& facts, int rank);

  [[nodiscard]] const core::ProgramFacts& facts() const { return *facts_; }
  [[nodiscard]] bool has_room(core::LaneId lane, const std::int64_t* held) const {
    for (const Use& use : uses_of(lane)) {
      if (held[use.pool] > use.most) return false;
    }
    return true;
  }
  void acquire(core::LaneId lane, std::int64_t* held) const {
    for (const Use& use : uses_of(lane)) held[use.pool] += use.acquires;
  }
  void release(core::LaneId lane, std::int64_t* held) const {
    for (const Use& use : uses_of(lane)) held[use.pool] -= use.releases;
  }
  // Counts only the pools of this rank, since there may be ten thousand ranks.
  [[nodiscard]] std::size_t counted(const core::ProgramFacts& /*facts*/) const {
    return pools_.size();
  }
  [[nodiscard]] std::size_t place_of(int pool) const {
    return static_cast<std::size_t>(std::lower_bound(pools_.begin(), pools_.end(), pool) -
                                    pools_.begin());
  }
  [[nodiscard]] core::Status write_order(int rank, int microbatches,
                                         core::OrderWriter& order) const;
  [[nodiscard]] std::int64_t priority(core::Task task, const std::int64_t* held,
                                      int microbatches) const {
    return priorities_.value(task, microbatches, [&](int pool) { return held[place_of(pool)]; });
  }

 private:
  struct Use {
    int pool;  // an index into pools_
    std::int64_t acquires;
    std::int64_t releases;
    std::int64_t most;  // the most that may be held before the task starts
  };
  struct Uses {
    std::uint32_t first;
    std::uint32_t end;
  };
  [[nodiscard]] std::span<const Use> uses_of(core::LaneId lane) const {
    const Uses own = of_lane_[static_cast<std::size_t>(lane - first_lane_)];
    return {uses_.data() + own.first, uses_.data() + own.end};
  }

  const spec::Program* program_;
  const core::ProgramFacts* facts_;
  core::LaneId first_lane_;
  std::vector<int> pools_;     // the pools of the rank, in order
  std::vector<Uses> of_lane_;  // per lane of the rank, its range in uses_
  std::vector<Use> uses_;
  spec::Priorities priorities_;
};

class TableArbiter final : public core::RuleArbiter<ProgramRules> {
 public:
  TableArbiter(const spec::Program& program, const core::ProgramFacts& facts, int rank)
      : RuleArbiter(rank, ProgramRules(program, facts, rank)) {}
};

}  // namespace ripeline::simulate

extern template class ripeline::core::RuleArbiter<ripeline::simulate::ProgramRules>;
