// The best order so far of one search, whom it is reported to, and when to stop.
//
// Methods offer what they find. What is better than all before, by the objective or, where that is
// equal, by the other measure, is kept and reported. The search ends when the objective equals a
// lower bound, or when `go_on` says so. One Incumbent belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "optimise/uniform.h"

namespace ripeline::optimise {

using Value = std::pair<std::int64_t, std::int64_t>;  // the objective, then the other measure

[[nodiscard]] inline Value value_of(Objective objective, std::int64_t wall, std::int64_t span) {
  return objective == Objective::wall ? Value{wall, span} : Value{span, wall};
}

// Order: with a `wall` and a `span`.
template <class Order>
class Incumbent {
 public:
  using Report = std::function<void(const Order& order, std::string_view method)>;

  // `go_on` is asked after a few milliseconds' work; with more than 100,000 tasks it may be
  // seconds.
  Incumbent(Objective objective, std::int64_t bound, std::function<bool()> go_on, Report better)
      : objective_(objective),
        bound_(bound),
        go_on_(std::move(go_on)),
        better_(std::move(better)) {}

  [[nodiscard]] Value value_of(std::int64_t wall, std::int64_t span) const {
    return optimise::value_of(objective_, wall, span);
  }
  [[nodiscard]] Value value_of(const Order& order) const {
    return value_of(order.wall, order.span);
  }

  [[nodiscard]] bool is_better(const Value& value) const { return !best_ || value < *best_; }

  bool offer(const Order& order, std::string_view method) {
    if (!take(order)) return false;
    better_(order, method);
    return true;
  }
  // The same without a report: its receiver has the order already.
  bool take(const Order& order) {
    if (!is_better(value_of(order))) return false;
    best_ = value_of(order);
    return true;
  }

  [[nodiscard]] Objective objective() const { return objective_; }
  [[nodiscard]] std::int64_t bound() const { return bound_; }
  [[nodiscard]] std::optional<Value> best() const { return best_; }
  [[nodiscard]] bool is_at_bound() const { return best_ && best_->first <= bound_; }

  // False once it was false.
  [[nodiscard]] bool goes_on() {
    if (!stopped_) stopped_ = is_at_bound() || !go_on_();
    return !stopped_;
  }

 private:
  Objective objective_;
  std::int64_t bound_;
  std::function<bool()> go_on_;
  Report better_;
  std::optional<Value> best_;
  bool stopped_ = false;
};

// The incumbent of the searches for even models.
using UniformIncumbent = Incumbent<FoundOrder>;

}  // namespace ripeline::optimise
