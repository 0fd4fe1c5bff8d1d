// The best order of one search, the receiver of better orders, and the rule that ends the search.
//
// Methods offer the orders that they find. An order is kept and reported if it beats all earlier
// orders by the objective or, if the objectives are equal, by the other measure. The search ends if
// the objective equals a lower bound or `go_on` returns false. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "optimise/uniform.h"

namespace ripeline::optimise {

using Value = std::pair<std::int64_t, std::int64_t>;  // the objective, then the other measure

[[nodiscard]] inline Value value_of(Objective objective, std::int64_t makespan, std::int64_t span) {
  return objective == Objective::makespan ? Value{makespan, span} : Value{span, makespan};
}

// `Order` must have the members `makespan` and `span`.
template <class Order>
class Incumbent {
 public:
  using Report = std::function<void(const Order& order, std::string_view method)>;

  // `go_on` is called after every few milliseconds of work. With more than 100,000 tasks, seconds
  // may pass between two calls.
  Incumbent(Objective objective, std::int64_t bound, std::function<bool()> go_on, Report better)
      : objective_(objective),
        bound_(bound),
        go_on_(std::move(go_on)),
        better_(std::move(better)) {}

  [[nodiscard]] Value value_of(std::int64_t makespan, std::int64_t span) const {
    return optimise::value_of(objective_, makespan, span);
  }
  [[nodiscard]] Value value_of(const Order& order) const {
    return value_of(order.makespan, order.span);
  }

  [[nodiscard]] bool is_better(const Value& value) const { return !best_ || value < *best_; }

  bool offer(const Order& order, std::string_view method) {
    if (!take(order)) return false;
    better_(order, method);
    return true;
  }
  // Like offer(), but without a report, for an order that the receiver already has.
  bool take(const Order& order) {
    if (!is_better(value_of(order))) return false;
    best_ = value_of(order);
    return true;
  }

  [[nodiscard]] Objective objective() const { return objective_; }
  [[nodiscard]] std::int64_t bound() const { return bound_; }
  [[nodiscard]] std::optional<Value> best() const { return best_; }
  [[nodiscard]] bool is_at_bound() const { return best_ && best_->first <= bound_; }

  // Whether the search continues. After it has returned false, it always returns false.
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
