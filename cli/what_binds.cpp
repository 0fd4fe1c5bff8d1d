// The external interface is what_binds(). The words follow the formula's name, in front of ` of `.
#include "cli/what_binds.h"

#include <string_view>

#include <fmt/format.h>

namespace ripeline::cli {
namespace {

using optimise::Bound;
using optimise::Problem;

struct Words {
  std::string_view formula;
  std::string_view of_model;    // even, trained with F, I and W
  std::string_view of_program;  // any program, where the formula names a pool
};
constexpr Words kWords[] = {
    {"busiest rank of every cut",
     "every cut of the layers: some rank has so much to do, or has to wait for its first gradient, "
     "for the way of its last one, or for room",
     ""},
    {"head ",
     "start-up: until its first gradient comes back, the rank has too little room, or nothing yet, "
     "to be busy",
     "start-up: until room comes back, the rank has too little of it, or nothing yet, to be busy, "
     "and the rest of its work and what follows that are still to come"},
    {"head+tail ",
     "start-up, and the way of the last forward down the pipeline and back up; what makes room for "
     "that forward comes before it",
     "start-up, and the way from the last task that takes room to the end; what makes room for it "
     "comes before it"},
    {"head+drain ", "start-up, and the way of the last gradient back to rank 0",
     "start-up, and the way to the end from the last of the tasks that have a long one"},
    {"cycle ", "memory: each place is taken for a whole way down and up, one after the other",
     "memory: each place is taken from the task that acquires it to what releases it, one "
     "microbatch after the other"},
    {"room ", "memory: it is full with what stays for the ways down and up",
     "memory: it is full with what stays from its acquire to its release"},
    {"path ", "a chain of tasks that need each other", ""},
    {"messages ",
     "a link, which carries one message at a time, and what must come before the first and after "
     "the last",
     ""},
};

std::string words_of_work(const Problem& problem, const Bound& bound, std::string_view formula) {
  if (!problem.program().pairs.empty()) {
    return "work: what a rank has to do if its pairs run beside each other as often as they can";
  }
  constexpr std::string_view kOfRank = "work of rank ";
  if (!formula.starts_with(kOfRank)) {
    const std::string_view engine = formula.substr(std::string_view("work of ").size());
    return fmt::format(
        "work of an engine: tasks run on {} one after the other, with what must come before the "
        "first of them and after the last",
        engine.substr(0, engine.find(' ')));
  }
  if (bound.value == problem.work()) {
    return "work: nobody can be faster than what the busiest rank has to do";
  }
  return "start-up, work and drain: tasks of one rank run one after the other, with what must come "
         "before the first of them and after the last";
}

std::string words_of(const Problem& problem, const Bound& bound, bool is_reached) {
  const std::size_t colon = bound.by.find(": ");
  const std::string_view formula =
      std::string_view(bound.by).substr(colon == bound.by.npos ? 0 : colon + 2);
  if (formula.starts_with("work ")) return words_of_work(problem, bound, formula);
  if (formula == "CP-SAT") {
    return is_reached ? "everything together: the solver went through all orders"
                      : "everything together: the solver excluded all that is below";
  }
  if (formula.starts_with("parts of it")) {
    return "everything together, in each part of the step: the solver excluded all that is below";
  }
  const bool of_pool = formula.find(" by ") != formula.npos;
  for (const Words& words : kWords) {
    if (!formula.starts_with(words.formula)) continue;
    return std::string(of_pool ? words.of_program : words.of_model);
  }
  return "";
}

}  // namespace

std::string what_binds(const Problem& problem, const Bound& bound, bool is_reached) {
  const std::string words = words_of(problem, bound, is_reached);
  if (words.empty()) return "";
  return (is_reached ? "what binds: " : "the bound counts ") + words + "\n";
}

}  // namespace ripeline::cli
