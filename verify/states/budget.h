// Budget: the number of states that searches may still visit.
//
// A state with many tasks counts as several states, so that a budget measures work. Each request is
// a stop point (spec/long_work.h). One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "spec/long_work.h"

namespace ripeline::verify {

struct Budget {
  std::uint64_t left = 0;
  bool ran_out = false;  // a request was refused; all later requests are refused, too
  [[nodiscard]] bool spend(std::uint64_t amount) {
    spec::stop_point();
    if (ran_out || left < amount) {
      left = 0;
      ran_out = true;
      return false;
    }
    left -= amount;
    return true;
  }
  [[nodiscard]] static Budget unlimited() {
    return {std::numeric_limits<std::uint64_t>::max(), false};
  }
};

// The part of a budget that one search may use. The destructor deducts what the part has spent.
class BudgetShare {
 public:
  BudgetShare(Budget& whole, std::uint64_t most)
      : whole_(whole), given_(std::min(most, whole.left)), own_{given_} {}
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;
  ~BudgetShare() { whole_.left -= given_ - own_.left; }

  [[nodiscard]] Budget& budget() { return own_; }

 private:
  Budget& whole_;
  std::uint64_t given_;
  Budget own_;
};

}  // namespace ripeline::verify
