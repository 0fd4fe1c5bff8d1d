// The search for good orders of a Problem, without a solver.
//
// It reports a first order at once and then each better one. It ends when the objective equals
// a lower bound or when it is told to stop. First it tries the order of the program's own
// dispatch. For an even model, or the even model nearest to the program, it tries the known
// methods for such models: on a chain, rules that ranks follow; then a search in the manner of
// Zero Bubble. For a program that is not even, and for a large V placement with little memory,
// it also tries one microbatch after the other, and random rules. After that, until it ends, it
// moves tasks on the critical path, and makes orders for more microbatches from orders for
// fewer.
//
// Deterministic: the same seed and the same number of calls of `go_on` give the same orders. Pure
// otherwise; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "optimise/problem.h"

namespace ripeline::optimise {

struct Limits {
  // Called every few milliseconds (every few seconds above 100,000 tasks). False ends the search.
  std::function<bool()> go_on;
  std::uint64_t seed = 1;
  // Called at the start and from time to time. Returns an order that was found elsewhere and beats
  // all reported orders, if there is one. The search continues from it but does not report it.
  std::function<std::optional<TimedOrder>()> elsewhere = {};
};

// Reports to `better` each order that beats all before, with the method that found it. There may be
// none, if one microbatch does not fit or no method finds an order that fits. No order may be below
// `bound`; if none reaches it, the search continues until it is told to stop.
void search(const Problem& problem, Time bound, const Limits& limits,
            const std::function<void(const TimedOrder& order, std::string_view method)>& better);

}  // namespace ripeline::optimise
