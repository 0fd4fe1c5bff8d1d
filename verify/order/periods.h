// An order with streams as plain repeats, for the microbatch counts of one remainder.
//
// Let M = period * q + remainder. From some q on, an order's expressions are linear in q if they
// are made of linear parts, `min`, `max`, conditions and rounded quotients, and the period is a
// multiple of the divisors. A stream is then a few groups of lanes, each repeated a number of
// times that is linear in q; two streams that are taken in turn pass through their groups with a
// common period. Turns left over at a boundary are written out one by one. So every rank's order
// is a list of runs, and equals what expand() gives, for every q from `first` on. Values;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

// The value slope * q + base.
struct InQ {
  std::int64_t slope = 0;
  std::int64_t base = 0;
  bool operator==(const InQ&) const = default;
};

struct PeriodicRun {
  std::vector<int> lanes;
  InQ count;
};

struct PeriodicOrder {
  std::int64_t first = 0;                       // the least q from which the order holds
  std::vector<std::vector<PeriodicRun>> ranks;  // per rank
  std::string problem;                          // the reason if there is no order
  spec::Span span;                              // the location of the problem
  std::int64_t factor = 1;  // above 1 if a period this many times longer may avoid the problem
};

[[nodiscard]] PeriodicOrder periodic_order(const spec::Program& program, const spec::Order& order,
                                           std::int64_t period, std::int64_t remainder);

// One order per remainder, from 0 on, with the shortest tried period that works; or a problem.
struct PeriodicFamily {
  std::int64_t period = 1;
  std::vector<PeriodicOrder> orders;  // by remainder; empty if there is a problem
  std::string problem;
  spec::Span span;
  // The number of microbatches from which on all orders are valid.
  [[nodiscard]] std::int64_t first_microbatches() const;
};
[[nodiscard]] PeriodicFamily periodic_family(const spec::Program& program,
                                             const spec::Order& order);

}  // namespace ripeline::verify
