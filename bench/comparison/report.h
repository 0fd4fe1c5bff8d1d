// The report on a field's runs: a cell for each hint and condition, as text and as JSON.
//
// Throws std::runtime_error if a rank held more than was proved for it, or if a cell has no number.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/comparison/field.h"
#include "optimise/racing/gain.h"

namespace ripeline::bench::comparison {

// The runs of all contenders, by condition, contender and seed.
struct Sides {
  Runs simulated;
  Runs emulated;
};

struct Cell {
  std::string condition;
  std::size_t fixed = 0;     // the fixed order, among the contenders
  std::size_t hint = 0;      // the hint, likewise
  optimise::Gain emulated;   // time of the fixed order over the hint's
  optimise::Gain simulated;  // the same ratio, on the same draws
  double fixed_off = 0;      // emulated over simulated time, less 1
  double hint_off = 0;
  int other_orders = 0;  // emulated runs of either in which a rank's order is not the simulated one
  double behind = 0;     // the most by which a rank went on late, in units
  // The fastest fixed order, on processes, that may hold no more than the hint on any rank.
  std::size_t best = 0;
  optimise::Gain over_best;

  // By how much the number differs from the simulated one.
  [[nodiscard]] double off() const { return emulated.ratio / simulated.ratio - 1; }
  // It differs, or one of its times does, by more than kMostOff.
  [[nodiscard]] bool is_off() const;
};
inline constexpr double kMostOff = 0.02;
inline constexpr double kLeastGain = 0.99;  // for a hint that waits, against any fixed order

struct Heading {
  int members = 1;
  Latencies latencies;
  double load_before = 0;  // the machine's load, averaged over a minute
  double load_after = 0;
};

[[nodiscard]] std::vector<Cell> cells_of(const std::vector<Contender>& contenders, const Plan& plan,
                                         const Sides& sides);
void print_field(const std::vector<Contender>& contenders, const Plan& plan, const Sides& sides,
                 const Heading& heading, const std::vector<Cell>& cells);
[[nodiscard]] nlohmann::json json_of(const std::vector<Contender>& contenders, const Plan& plan,
                                     const Sides& sides, const Heading& heading,
                                     const std::vector<Cell>& cells);

// `8 7 6`; `1F1B`, filled to a width in characters.
[[nodiscard]] std::string numbers(const std::vector<std::int64_t>& values);
[[nodiscard]] std::string filled(std::string text, std::size_t width);
// `0.965 (0.951 to 0.979)`
[[nodiscard]] std::string text_of(const optimise::Gain& gain);

}  // namespace ripeline::bench::comparison
