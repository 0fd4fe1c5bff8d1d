// The report on a field's runs: a cell for each hint and condition, as text and as JSON.
//
// Throws std::runtime_error if a rank held more than its proved limit, or if a cell has no number.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/comparison/field.h"
#include "optimise/racing/gain.h"

namespace ripeline::bench::comparison {

// The runs of all contenders, by condition, contender and seed.
struct Sides {
  StepResults simulated;
  StepResults emulated;
};

struct Cell {
  std::string condition;
  std::size_t fixed = 0;     // the number of the fixed order among the contenders
  std::size_t hint = 0;      // the number of the hint
  optimise::Gain emulated;   // time of the fixed order over the hint's
  optimise::Gain simulated;  // the same ratio, on the same draws
  double fixed_off = 0;      // emulated over simulated time, minus 1
  double hint_off = 0;
  int other_orders = 0;  // emulated runs, of both, in which a rank's order was not as simulated
  double behind = 0;     // the longest delay of a rank behind its timing, in units
  // The fixed order that is fastest on processes, among those that hold no more than the hint may.
  std::size_t best = 0;
  optimise::Gain over_best;

  // The emulated ratio divided by the simulated ratio, minus 1.
  [[nodiscard]] double off() const { return emulated.ratio / simulated.ratio - 1; }
  // Whether the ratio or a time differs from the simulated one by more than kMostOff.
  [[nodiscard]] bool is_off() const;
};
inline constexpr double kMostOff = 0.02;
inline constexpr double kLeastGain = 0.99;  // for a hint that waits, against any fixed order

struct Heading {
  int members = 1;
  Latencies latencies;
  double load_before = 0;  // the machine's load average over a minute
  double load_after = 0;
};

[[nodiscard]] std::vector<Cell> cells_of(const std::vector<Contender>& contenders, const Plan& plan,
                                         const Sides& sides);
void print_field(const std::vector<Contender>& contenders, const Plan& plan, const Sides& sides,
                 const Heading& heading, const std::vector<Cell>& cells);
[[nodiscard]] nlohmann::json json_of(const std::vector<Contender>& contenders, const Plan& plan,
                                     const Sides& sides, const Heading& heading,
                                     const std::vector<Cell>& cells);

// numbers() is text such as `8 7 6`; filled() adds spaces up to a width in characters.
[[nodiscard]] std::string numbers(const std::vector<std::int64_t>& values);
[[nodiscard]] std::string filled(std::string text, std::size_t width);
// The gain as text such as `0.965 (0.951 to 0.979)`.
[[nodiscard]] std::string text_of(const optimise::Gain& gain);

}  // namespace ripeline::bench::comparison
