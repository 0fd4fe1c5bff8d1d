// Tally: the sums of many comparisons, feature by feature.
//
// A program counts in the row `all`, and in the row of each of its features. If two of its stages
// feed one, it counts in `join` and not in its features. Values; can be added, and stored as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/compare/comparison.h"

namespace ripeline::compare {

struct Row {
  std::int64_t programs = 0;
  std::int64_t proved = 0;
  std::int64_t refuted = 0;
  std::int64_t through_hint = 0;
  std::int64_t not_asked = 0;
  std::int64_t open = 0;
  std::int64_t unsupported = 0;
  std::int64_t visited = 0;
  std::int64_t missed = 0;
  std::int64_t loose = 0;
  std::int64_t at_most = 0;
  bool operator==(const Row&) const = default;

  [[nodiscard]] std::int64_t judged() const { return programs - unsupported; }
};

// A program with a wrong verdict.
struct Wrong {
  std::uint64_t seed = 0;
  std::string what;
  std::string text;
  bool operator==(const Wrong&) const = default;
};

struct Tally {
  std::map<std::string, Row> rows;
  std::vector<Wrong> wrong;
  std::vector<std::uint64_t> missed;  // the first few seeds with missed verdicts
  double oracle_seconds = 0;
  double verify_seconds = 0;
  bool operator==(const Tally&) const = default;

  void add(std::uint64_t seed, const Comparison& comparison);
  void add(const Tally& other);
  [[nodiscard]] std::string table() const;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Row, programs, proved, refuted, through_hint, not_asked, open,
                                   unsupported, visited, missed, loose, at_most)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Wrong, seed, what, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tally, rows, wrong, missed, oracle_seconds, verify_seconds)

}  // namespace ripeline::compare
