// Agreement: what the members of a tensor-parallel group may start, between arbiter and executor.
//
// Members see arrivals at different times. In numbered rounds an agreement turns their ready sets
// into one set that all of them use, so that all choose the same task. Belongs to its executor's
// thread.
#pragma once

#include <cstdint>

#include "core/arbiter.h"

namespace ripeline::core {

class Agreement {
 public:
  struct Permission {
    bool decided = false;            // false: the round is still open, nothing may start
    const TaskSet* tasks = nullptr;  // null: everything that the arbiter itself offers
  };

  virtual ~Agreement() = default;
  // What may start on `engine` in the current round.
  [[nodiscard]] virtual Permission permit(const Arbiter& arbiter, Engine engine, Time now) = 0;
  // `task` starts, which ends the round.
  virtual void started(Task task) = 0;
  [[nodiscard]] virtual std::int64_t round() const = 0;
};

// One member: its own ready set decides, at once.
class OneMember final : public Agreement {
 public:
  Permission permit(const Arbiter& /*arbiter*/, Engine /*engine*/, Time /*now*/) override {
    return {.decided = true, .tasks = nullptr};
  }
  void started(Task /*task*/) override { ++round_; }
  [[nodiscard]] std::int64_t round() const override { return round_; }

 private:
  std::int64_t round_ = 0;
};

}  // namespace ripeline::core
