// Tally: the results of many simulated runs, by kind of fault.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/joint/joint_run.h"

namespace ripeline::joint {

class Tally {
 public:
  void add(const Verdict& verdict);
  [[nodiscard]] std::int64_t broken() const { return broken_; }
  // In runs with one fault, the share of first lines that name a culprit.
  [[nodiscard]] double named() const;
  // The number of runs of this kind whose faults took place.
  [[nodiscard]] std::int64_t happened(FaultKind kind) const;
  // A table for people with a row for each kind.
  [[nodiscard]] std::string table() const;

 private:
  struct Row {
    std::int64_t runs = 0;
    std::int64_t stuck = 0;
    std::int64_t happened = 0;
    std::int64_t well = 0;
    std::int64_t survivors = 0;
    std::int64_t named = 0;
    std::int64_t agreed = 0;  // runs
    std::int64_t broken = 0;
    std::int64_t events = 0;
  };
  std::map<FaultKind, Row> rows_;
  std::int64_t broken_ = 0;
};

// A description of one run: the broken invariant, and the first lines of its survivors.
[[nodiscard]] std::string report_of(const Verdict& verdict);

}  // namespace ripeline::joint
