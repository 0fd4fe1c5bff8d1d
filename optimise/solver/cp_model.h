// CpModel: a constraint program over integers as plain values, in the form that CP-SAT takes.
//
// Variables are numbered from 0, and each has a domain. A literal is a variable with the domain 0
// to 1, or its negation, which is written -variable - 1. The objective is a variable to minimise.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ripeline::optimise {

struct CpModel {
  using Value = std::int64_t;
  static constexpr Value kNoLimit = std::numeric_limits<Value>::max();
  static constexpr int kAlways = std::numeric_limits<int>::max();

  struct Domain {
    Value least = 0;
    Value most = 0;
  };
  // Requires least <= sum of coefficient * variable <= most, if the literal `only_if` is true.
  struct Linear {
    std::vector<std::pair<int, Value>> terms = {};
    Value least = 0;
    Value most = kNoLimit;
    int only_if = kAlways;
  };
  struct Affine {
    int variable = -1;  // -1 if there is none; the value is then the offset
    Value coefficient = 1;
    Value offset = 0;
  };
  struct Interval {
    Affine start = {};
    Affine size = {};
    Affine end = {};  // start + size, which linear constraints must ensure
  };
  struct Cumulative {
    Value capacity = 0;
    std::vector<std::pair<int, Value>> demands = {};  // pairs of interval and amount
  };

  int add(Domain domain) {
    variables.push_back(domain);
    return static_cast<int>(variables.size()) - 1;
  }
  int add(Interval interval) {
    intervals.push_back(interval);
    return static_cast<int>(intervals.size()) - 1;
  }
  // Requires a >= b + distance, if the literal `only_if` is true.
  void add_after(int a, int b, Value distance, int only_if = kAlways) {
    linears.push_back({{{a, 1}, {b, -1}}, distance, kNoLimit, only_if});
  }

  std::vector<Domain> variables;
  std::vector<Interval> intervals;
  std::vector<Linear> linears;
  std::vector<std::vector<int>> no_overlaps;  // sets of intervals
  std::vector<Cumulative> cumulatives;
  int objective = 0;        // a variable
  std::vector<Value> hint;  // per variable, or empty
};

// Describes the first constraint that the values (one per variable) violate; nullopt if all hold.
[[nodiscard]] std::optional<std::string> broken_by(const CpModel& model,
                                                   const std::vector<CpModel::Value>& values);

}  // namespace ripeline::optimise
