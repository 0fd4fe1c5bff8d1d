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
  // Every stage's backwards run in microbatch order, so that gradients are the unpipelined
  // model's to the bit.
  bool fixed_sum;
  const ripeline::core::ProgramFacts& facts;
  std::unique_ptr<ripeline::core::Arbiter> (*make_arbiter)(int rank);
  // Embedding and output layer have the same weights: the program adds up their gradients.
  [[nodiscard]] bool ties_weights() const;
};

[[nodiscard]] std::span<const Schedule> schedules();
[[nodiscard]] const Schedule* find_schedule(std::string_view name);
[[nodiscard]] std::string schedule_names();  // for people, separated by commas

}  // namespace gpt
