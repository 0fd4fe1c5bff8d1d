// The closed formulas of the uniform problem. A V placement uses the formulas of a chain, with the
// paths of the V's 2p stages. The later stage of each rank has the last forward and the first input
// gradient; the earlier stage has the last input gradient.
#include "optimise/bounds/bounds.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "optimise/bounds/program_bounds.h"
#include "optimise/bounds/task_graph.h"

namespace ripeline::optimise {
namespace {

using Time = std::int64_t;

class UniformBounds {
 public:
  explicit UniformBounds(const Uniform& problem)
      : u_(problem),
        stages_each_(chunks_of(problem)),
        stages_(stages_each_ * problem.ranks),
        tasks_(Time{stages_each_} * problem.microbatches) {
    // At the turn of a V both stages are on one rank.
    const Time messages = stages_ - stages_each_;
    down_ = stages_ * u_.forward + messages * u_.latency;
    up_ = stages_ * u_.input + messages * u_.latency;
  }

  Bound best(Objective objective) {
    consider(tasks_ * (u_.forward + u_.input + u_.weight), Formula::work, 0);
    for (int rank = 0; rank < u_.ranks; ++rank) {
      // By span, a rank's time counts from its first start, so `own_start` is subtracted. The other
      // formulas include the paths from rank 0 and back to it, so they bound the span of rank 0.
      const Time own_start = objective == Objective::span ? first_forward(rank) : 0;
      consider(head(rank) - own_start, Formula::head, rank);
      consider(head_and_tail(rank), Formula::head_and_tail, rank);
      consider(head_and_drain(rank), Formula::head_and_drain, rank);
      consider(room(rank) - own_start, Formula::room, rank);
    }
    consider(cycle(), Formula::cycle, 0);
    return best_;
  }

 private:
  void consider(Time value, Formula formula, int rank) {
    if (value <= best_.value) return;
    best_ = {value, fmt::format("{} of rank {}", name_of(formula), rank), formula};
  }

  // The number of stages after the rank's last stage. Each of them needs one message between ranks.
  [[nodiscard]] Time stages_below(int rank) const {
    return stages_each_ == 2 ? rank : u_.ranks - 1 - rank;
  }
  [[nodiscard]] Time first_forward(int rank) const { return rank * (u_.forward + u_.latency); }

  // The rank's total idle time before its first input gradient arrives.
  [[nodiscard]] Time idle(int rank) const {
    const Time first_input = down_ + stages_below(rank) * (u_.input + u_.latency);
    const Time forwards = std::min<Time>(u_.memory, tasks_);
    return std::max(first_forward(rank), first_input - forwards * u_.forward);
  }

  [[nodiscard]] Time head(int rank) const {
    return idle(rank) + tasks_ * (u_.forward + u_.input + u_.weight);
  }

  [[nodiscard]] Time head_and_tail(int rank) const {
    const Time released = tasks_ - u_.memory;
    if (released <= 0) return 0;  // the last forward may come before the first input gradient
    const Time below = stages_below(rank);
    return idle(rank) + (tasks_ - 1) * u_.forward + released * (u_.input + u_.weight) +
           (below + 1) * u_.forward + below * u_.latency + up_ + u_.weight;
  }

  [[nodiscard]] Time head_and_drain(int rank) const {
    return idle(rank) + tasks_ * (u_.forward + u_.input) +
           std::max<Time>(0, tasks_ - u_.memory) * u_.weight + rank * (u_.input + u_.latency) +
           u_.weight;
  }

  // `starts` has the least start of each forward of stage 0. Before rank 0 frees the slot of a
  // microbatch, it has run all of the microbatch's tasks except the W of a later stage.
  [[nodiscard]] Time cycle() const {
    const Time trip = down_ + up_ + u_.weight;
    const Time freed = u_.input + u_.weight + (stages_each_ - 1) * (u_.forward + u_.input);
    std::vector<Time> starts(static_cast<std::size_t>(u_.microbatches), 0);
    for (int j = 1; j < u_.microbatches; ++j) {
      Time& start = starts[static_cast<std::size_t>(j)];
      start = starts[static_cast<std::size_t>(j - 1)] + u_.forward;
      if (j < u_.memory) continue;
      start = std::max({start, starts[static_cast<std::size_t>(j - u_.memory)] + trip,
                        idle(0) + j * u_.forward + (j - u_.memory + 1) * freed});
    }
    return starts.back() + trip;
  }

  // The first forward's start, plus the average time for which a slot is occupied or must be empty.
  // Slots are empty while the first forwards fill them one by one and while the last W empty them.
  [[nodiscard]] Time room(int rank) const {
    if (tasks_ < u_.memory) return 0;
    const Time below = stages_below(rank);
    Time taken = trip_from(below, below);
    if (stages_each_ == 2) taken += trip_from(stages_ - 1 - rank, stages_ - 2 - rank);
    taken *= u_.microbatches;
    taken += (u_.forward + u_.weight) * u_.memory * (u_.memory - 1) / 2;
    return first_forward(rank) + (taken + u_.memory - 1) / u_.memory;
  }

  // The time from the start of a stage's F to the end of its W, with `below` stages after it.
  [[nodiscard]] Time trip_from(Time below, Time messages) const {
    return (below + 1) * (u_.forward + u_.input) + 2 * messages * u_.latency + u_.weight;
  }

  const Uniform& u_;
  int stages_each_;  // stages on each rank
  int stages_;
  Time tasks_;  // a rank's number of F; also of I, and of W
  Time down_;   // all forwards of a microbatch, with the messages between them
  Time up_;     // all its input gradients, with the messages between them
  Bound best_;
};

core::Status check(const spec::Program& program, int microbatches) {
  if (!program.unsupported.empty()) {
    return {core::StatusCode::invalid,
            fmt::format("no bound is known of {}", program.unsupported.front().construct)};
  }
  if (microbatches > 0 && program.microbatches.contains(microbatches)) return {};
  return {core::StatusCode::invalid,
          fmt::format("the program is not for {} microbatches", microbatches)};
}

}  // namespace

std::string_view name_of(Formula formula) {
  switch (formula) {
    case Formula::none:
      return "";
    case Formula::work:
      return "work";
    case Formula::head:
      return "head";
    case Formula::head_and_tail:
      return "head+tail";
    case Formula::head_and_drain:
      return "head+drain";
    case Formula::cycle:
      return "cycle";
    case Formula::room:
      return "room";
    case Formula::path:
      return "path";
    case Formula::messages:
      return "messages";
    case Formula::every_cut:
      return "busiest rank of every cut";
    case Formula::solver:
      return "CP-SAT";
    case Formula::solver_of_parts:
      return "parts of it, by CP-SAT";
  }
  return "";
}

Bound lower_bound(const Uniform& problem, Objective objective) {
  return UniformBounds(problem).best(objective);
}

core::Status lower_bound(const spec::Program& program, int microbatches,
                         const simulate::TimingOptions& times, Objective objective, Bound& bound) {
  if (core::Status s = check(program, microbatches); !s.ok()) return s;
  simulate::Timing timing;
  if (core::Status s = simulate::Timing::make(program, microbatches, times, timing); !s.ok())
    return s;
  if (timing.draws()) {
    return {core::StatusCode::invalid,
            "a bound holds for fixed times, and these are drawn: leave out the jitter and the "
            "profile's spreads"};
  }
  TaskGraph graph;
  if (core::Status s = TaskGraph::make(program, microbatches, timing, graph); !s.ok()) return s;
  ProgramBounds bounds(program, microbatches, timing, graph);
  bound = objective == Objective::makespan ? bounds.makespan() : bounds.span();
  return {};
}

}  // namespace ripeline::optimise
