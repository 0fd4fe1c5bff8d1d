// The search for good orders of a Problem, without a solver.
//
// It has a first order at once, then reports each better one, and ends when the objective
// equals a lower bound or when it is told to stop. First it tries the order of the program's
// own dispatch. For an even model, or the even model nearest to the program, it tries the known
// methods for such models: rules that ranks follow (on a chain), and the search in the manner
// of Zero Bubble. For a program that is not even, and for a large V placement with little
// memory, it tries one microbatch after the other, and rules drawn at random. Then, until it
// ends, it moves tasks on the critical path, and makes orders for more microbatches from orders
// for few.
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
  // Called every few milliseconds, or seconds with more than 100,000 tasks. False ends the search.
  std::function<bool()> go_on;
  std::uint64_t seed = 1;
  // Called at the beginning and now and then. Returns an order that was found elsewhere and is
  // better than all reported ones, if there is one. Moves continue from it; it is not reported.
  std::function<std::optional<TimedOrder>()> elsewhere = {};
};

// Reports each order that is better than all before to `better`, with the method that found it.
// There may be none, if the memory does not hold one microbatch, or only orders of other kinds fit.
// No order is below `bound`; if none reaches it, the search continues until it is told to stop.
void search(const Problem& problem, Time bound, const Limits& limits,
            const std::function<void(const TimedOrder& order, std::string_view method)>& better);

}  // namespace ripeline::optimise
