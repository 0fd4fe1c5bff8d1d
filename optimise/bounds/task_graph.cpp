#include "optimise/bounds/task_graph.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "spec/guards.h"

namespace ripeline::optimise {
namespace {

using core::Status;
using spec::Program;

// The least time of a task, also if tasks of its pairs beside it make it faster. Each such task
// that starts causes two roundings, so two nanoseconds are subtracted per task.
TaskGraph::Time fastest(const Program& program, const simulate::Timing& timing,
                        const spec::Guards& guards, core::Task task, int microbatches) {
  const TaskGraph::Time alone = timing.task(task).count();
  double factor = 1;
  int others = 0;
  for (const int other : guards.beside) {
    factor = std::min(factor, timing.slowdown(task.lane, other));
    others += program.tasks_of(other, microbatches);
  }
  if (factor >= 1) return alone;
  const double least = std::floor(static_cast<double>(alone) * factor);
  return std::max<TaskGraph::Time>(0, static_cast<TaskGraph::Time>(least) - 2 * others);
}

}  // namespace

Status TaskGraph::make(const Program& program, int microbatches, const simulate::Timing& timing,
                       TaskGraph& graph) {
  TaskGraph g;
  g.program_ = &program;
  g.microbatches_ = microbatches;
  const std::vector<spec::Guards> guards = spec::guards_of(program);
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    g.first_node_.push_back(size_of(g.takes_));
    for (int k = 0; k < program.tasks_of(lane, microbatches); ++k) {
      g.takes_.push_back(fastest(program, timing, at(guards, lane), {lane, k}, microbatches));
    }
  }
  g.tasks_ = size_of(g.takes_);
  g.first_node_.push_back(g.tasks_);
  g.all_node_.assign(program.edges.size(), -1);
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    const spec::Guards& of_lane = at(guards, lane);
    for (const int edge : of_lane.needs) g.add_edge(edge, timing);
    const int end = g.first_node(lane + 1);
    for (int node = g.first_node(lane) + 1; of_lane.in_sequence && node < end; ++node) {
      g.arcs_.push_back({node - 1, node, 0});
    }
  }
  if (Status s = g.sort_arcs(); !s.ok()) return s;
  graph = std::move(g);
  return {};
}

void TaskGraph::add_edge(int edge, const simulate::Timing& timing) {
  const spec::Edge& e = at(program_->edges, edge);
  const bool message = program_->crosses_ranks(e);
  const auto lag = [&](int producer) {
    if (!message) return Time{0};
    const core::Message sent{edge, producer};
    return (timing.transfer(sent) + timing.latency(sent)).count();
  };
  const int consumers = program_->tasks_of(e.consumer, microbatches_);
  if (e.of == spec::Of::all) {
    const int all = nodes();
    at(all_node_, edge) = all;
    takes_.push_back(0);
    const auto [first, last] = program_->needed(e, 0, microbatches_);
    for (int k = first; k < last; ++k) arcs_.push_back({node({e.producer, k}), all, lag(k)});
    for (int task = 0; task < consumers; ++task)
      arcs_.push_back({all, node({e.consumer, task}), 0});
    return;
  }
  for (int task = 0; task < consumers; ++task) {
    const auto [first, last] = program_->needed(e, task, microbatches_);
    for (int k = first; k < last; ++k) {
      arcs_.push_back({node({e.producer, k}), node({e.consumer, task}), lag(k)});
    }
  }
}

Status TaskGraph::sort_arcs() {
  std::vector<int> missing(takes_.size(), 0);
  std::vector<int> first(takes_.size() + 1, 0);  // per node: the first arc from it, in `after`
  for (const Arc& arc : arcs_) {
    ++at(missing, arc.node);
    ++at(first, arc.before + 1);
  }
  for (int node = 0; node < nodes(); ++node) at(first, node + 1) += at(first, node);
  std::vector<int> after(arcs_.size());
  std::vector<int> next = first;
  for (int i = 0; i < size_of(arcs_); ++i) at(after, at(next, at(arcs_, i).before)++) = i;

  // `ready` has the nodes whose predecessors are done, in the order in which they became ready. In
  // `sorted`, arcs are in the order of their first nodes, so arcs to a node precede those from it.
  std::vector<int> ready;
  for (int node = 0; node < nodes(); ++node) {
    if (at(missing, node) == 0) ready.push_back(node);
  }
  std::vector<Arc> sorted;
  sorted.reserve(arcs_.size());
  for (int i = 0; i < size_of(ready); ++i) {
    const int node = at(ready, i);
    for (int k = at(first, node); k < at(first, node + 1); ++k) {
      const Arc& arc = at(arcs_, at(after, k));
      sorted.push_back(arc);
      if (--at(missing, arc.node) == 0) ready.push_back(arc.node);
    }
  }
  arcs_ = std::move(sorted);
  if (size_of(ready) == nodes()) return {};
  const auto left = std::find_if(missing.begin(), missing.end(), [](int n) { return n > 0; });
  const core::Task stuck = task(static_cast<int>(left - missing.begin()));
  return {core::StatusCode::invalid,
          fmt::format("{} can never start: it needs tasks that need it",
                      program_->task_name(stuck.lane, stuck.microbatch))};
}

core::Task TaskGraph::task(int node) const {
  const auto after = std::upper_bound(first_node_.begin(), first_node_.end(), node);
  const int lane = static_cast<int>(after - first_node_.begin()) - 1;
  return {lane, node - at(first_node_, lane)};
}

int TaskGraph::receiver(core::Message message) const {
  const spec::Edge& e = at(program_->edges, message.edge);
  const int task = program_->needed_by(e, message.microbatch, microbatches_);
  if (task < 0) return -1;
  return e.of == spec::Of::all ? at(all_node_, message.edge) : node({e.consumer, task});
}

void TaskGraph::extend_heads(std::vector<Time>& heads) const {
  for (const Arc& arc : arcs_) {
    const Time before = at(heads, arc.before);
    if (before == kNone) continue;
    Time& head = at(heads, arc.node);
    head = std::max(head, before + at(takes_, arc.before) + arc.lag);
  }
}

void TaskGraph::extend_tails(std::vector<Time>& tails) const {
  for (auto arc = arcs_.rbegin(); arc != arcs_.rend(); ++arc) {
    const Time after = at(tails, arc->node);
    if (after == kNone) continue;
    Time& tail = at(tails, arc->before);
    tail = std::max(tail, arc->lag + at(takes_, arc->node) + after);
  }
}

}  // namespace ripeline::optimise
