// The schedules that this program can train under: arbiters generated from schedules/*.ripe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/arbiter.h"

namespace gpt {

struct Schedule {
  std::string_view name;
  std::string_view about;
  // Whether all backwards of a stage run in microbatch order, so that gradients equal those of the
  // unpipelined model to the bit.
  bool fixed_sum;
  const ripeline::core::ProgramFacts& facts;
  std::unique_ptr<ripeline::core::Arbiter> (*make_arbiter)(int rank);
  // Whether embedding and output layer share weights, whose gradients the program adds up.
  [[nodiscard]] bool ties_weights() const;
};

[[nodiscard]] std::span<const Schedule> schedules();
[[nodiscard]] const Schedule* find_schedule(std::string_view name);
[[nodiscard]] std::string schedule_names();  // for people, separated by commas

}  // namespace gpt
