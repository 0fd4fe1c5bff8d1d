#include "optimise/what_binds.h"

#include <fmt/format.h>

namespace ripeline::optimise {
namespace {

std::string words_of_work(const Problem& problem, const Bound& bound) {
  if (!problem.program().pairs.empty()) {
    return "work: what a rank has to do if its pairs run beside each other as often as they can";
  }
  if (!bound.of.empty()) {
    return fmt::format(
        "work of an engine: tasks run on {} one after the other, with what must come before the "
        "first of them and after the last",
        bound.of);
  }
  if (bound.value == problem.work()) {
    return "work: nobody can be faster than what the busiest rank has to do";
  }
  return "start-up, work and drain: tasks of one rank run one after the other, with what must come "
         "before the first of them and after the last";
}

// A bound that names a pool may be of any program. A bound without a pool is of an even model that
// is trained with F, I and W.
std::string words_of_room(const Bound& bound) {
  const bool of_pool = !bound.of.empty();
  switch (bound.formula) {
    case Formula::head:
      return of_pool
                 ? "start-up: until room comes back, the rank has too little of it, or nothing "
                   "yet, "
                   "to be busy, and the rest of its work and what follows that are still to come"
                 : "start-up: until its first gradient comes back, the rank has too little room, "
                   "or "
                   "nothing yet, to be busy";
    case Formula::head_and_tail:
      return of_pool ? "start-up, and the way from the last task that takes room to the end; what "
                       "makes room for it comes before it"
                     : "start-up, and the way of the last forward down the pipeline and back up; "
                       "what makes room for that forward comes before it";
    case Formula::head_and_drain:
      return of_pool ? "start-up, and the way to the end from the last of the tasks that have a "
                       "long one"
                     : "start-up, and the way of the last gradient back to rank 0";
    case Formula::cycle:
      return of_pool ? "memory: each place is taken from the task that acquires it to what "
                       "releases it, one microbatch after the other"
                     : "memory: each place is taken for a whole way down and up, one after the "
                       "other";
    case Formula::room:
      return of_pool ? "memory: it is full with what stays from its acquire to its release"
                     : "memory: it is full with what stays for the ways down and up";
    default:
      return "";
  }
}

std::string words_of(const Problem& problem, const Bound& bound, bool is_reached) {
  switch (bound.formula) {
    case Formula::none:
      return "";
    case Formula::work:
      return words_of_work(problem, bound);
    case Formula::head:
    case Formula::head_and_tail:
    case Formula::head_and_drain:
    case Formula::cycle:
    case Formula::room:
      return words_of_room(bound);
    case Formula::path:
      return "a chain of tasks that need each other";
    case Formula::messages:
      return "a link, which carries one message at a time, and what must come before the first and "
             "after the last";
    case Formula::every_cut:
      return "every cut of the layers: some rank has so much to do, or has to wait for its first "
             "gradient, for the way of its last one, or for room";
    case Formula::solver:
      return is_reached ? "everything together: the solver went through all orders"
                        : "everything together: the solver excluded all that is below";
    case Formula::solver_of_parts:
      return "everything together, in each part of the step: the solver excluded all that is below";
  }
  return "";
}

}  // namespace

std::string what_binds(const Problem& problem, const Bound& bound, bool is_reached) {
  const std::string words = words_of(problem, bound, is_reached);
  if (words.empty()) return "";
  return (is_reached ? "what binds: " : "the bound counts ") + words + "\n";
}

}  // namespace ripeline::optimise
