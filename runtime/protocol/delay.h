// Injected delays: sleeps before tasks, and late messages, so that schedules can be compared under
// known noise.
//
// A delay is a function of the seed and of what it delays (step, task or message), never of time or
// order, so that every schedule meets the same delays. SPEC is a comma-separated list:
//   compute=OP:MS      a task of that op sleeps MS milliseconds first: compute=F:4,compute=B:8
//   jitter=P           each such sleep is scaled by 1 + P * U(-1, 1)
//   message=MS         every message takes MS longer
//   rare=PERCENT:MS    that share of the messages takes MS longer still
//   seed=N             seeds the random draws, in place of the caller's seed
//   fifo               messages of one edge keep their order: a late one delays those behind it;
//                      without it later messages overtake a late one
// A rank holds back a message that has arrived until it is due (RankOptions::due). The delay counts
// from the time of sending, so all processes must be on one host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "runtime/transport.h"

namespace ripeline::runtime::protocol {

class DelayPlan {
 public:
  DelayPlan() = default;  // no delays
  // Fails by status, which names what was expected and where.
  static core::Status parse(std::string_view spec, std::uint64_t seed, DelayPlan& plan);

  // Fails by status if a delay names an op that no program has; the status lists the ops.
  [[nodiscard]] core::Status check_ops(
      const std::vector<const core::ProgramFacts*>& programs) const;

  [[nodiscard]] bool empty() const;
  [[nodiscard]] core::Time compute(const core::ProgramFacts& facts, std::int64_t step,
                                   core::Task task) const;
  [[nodiscard]] core::Time message(const core::ProgramFacts& facts, std::int64_t step,
                                   core::Message message) const;
  [[nodiscard]] bool fifo() const { return fifo_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_ = 0;
  std::map<std::string, core::Time, std::less<>> compute_;  // by op name
  double jitter_ = 0;
  core::Time message_{0};
  double rare_share_ = 0;
  core::Time rare_{0};
  bool fifo_ = false;
};

// Tells when an arrived message is due. `facts` is borrowed.
[[nodiscard]] std::function<core::Time(const signals::OfMessage&, core::Time sent)> due_of(
    const DelayPlan& plan, const core::ProgramFacts& facts);

}  // namespace ripeline::runtime::protocol
