#include "optimise/model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "spec/guards.h"

namespace ripeline::optimise {
namespace {

using spec::Program;

// The most that a pool may hold: the least of its capacity and asserted peaks; nullopt if no limit.
std::optional<std::int64_t> limit_of(const Program& program, const spec::Pool& pool,
                                     int microbatches) {
  std::optional<std::int64_t> limit = pool.capacity;
  for (const spec::PeakAssertion& assertion : program.assertions) {
    if (assertion.resource != pool.resource) continue;
    const auto bound = spec::asserted_bound(program, assertion, pool, microbatches);
    if (bound) limit = std::min(limit.value_or(*bound), *bound);
  }
  return limit;
}

// The first feature of the program that a Model cannot describe; nullopt if there is none.
std::optional<std::string> left_out_of(const Program& program, int microbatches,
                                       const simulate::Timing& timing, const TaskGraph& graph) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (!spec::guards_of(program, lane).beside.empty()) return "pairs";
    if (spec::uses_of(at(program.lanes, lane)).empty()) continue;
    for (int k = 0; k < program.tasks_of(lane, microbatches); ++k) {
      if (graph.takes(graph.node({lane, k})) == 0) return "tasks that take no time";
    }
  }
  for (int e = 0; e < size_of(program.edges); ++e) {
    const spec::Edge& edge = at(program.edges, e);
    if (!program.crosses_ranks(edge)) continue;
    if (edge.inbox >= 0 || edge.rendezvous) return "links with bounds";
    for (int k = 0; k < program.tasks_of(edge.producer, microbatches); ++k) {
      const core::Message sent{e, k};
      if (graph.receiver(sent) >= 0 && timing.transfer(sent).count() > 0) {
        return "links with bandwidth";
      }
    }
  }
  for (const spec::PeakAssertion& assertion : program.assertions) {
    for (const spec::Pool& pool : program.pools) {
      if (pool.resource == assertion.resource &&
          !spec::asserted_bound(program, assertion, pool, microbatches)) {
        return "assertions without a value";
      }
    }
  }
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    if (!limit_of(program, at(program.pools, pool), microbatches)) continue;
    std::optional<core::Engine> engine;
    for (const spec::Lane& lane : program.lanes) {
      for (const spec::Use& use : spec::uses_of(lane)) {
        if (use.pool != pool) continue;
        if (engine && *engine != lane.engine) return "pools that several engines use";
        engine = lane.engine;
      }
    }
  }
  return std::nullopt;
}

bool is_even(const Program& program, int microbatches, const Model& model) {
  for (int l = 0; l < size_of(program.lanes); ++l) {
    const Model::Lane& lane = at(model.lanes, l);
    if (lane.tasks != microbatches) return false;
    for (int k = 1; k < lane.tasks; ++k) {
      if (at(model.takes, lane.first + k) != at(model.takes, lane.first)) return false;
    }
  }
  return std::all_of(program.edges.begin(), program.edges.end(),
                     [](const spec::Edge& edge) { return edge.of == spec::Of::same; });
}

}  // namespace

Model Model::of(const Program& program, int microbatches, const simulate::Timing& timing,
                const TaskGraph& graph) {
  Model model;
  model.add_lanes(program, microbatches, graph);
  model.add_arcs(graph);
  model.add_pools(program, microbatches);
  model.left_out = left_out_of(program, microbatches, timing, graph);
  model.even = is_even(program, microbatches, model);
  return model;
}

void Model::add_lanes(const Program& program, int microbatches, const TaskGraph& graph) {
  std::vector<int> machine_of(index(program.ranks) * spec::kEngines, -1);
  for (int node = 0; node < graph.nodes(); ++node) takes.push_back(graph.takes(node));
  for (int l = 0; l < size_of(program.lanes); ++l) {
    const spec::Lane& lane = at(program.lanes, l);
    int& machine = machine_of[spec::engine_index(lane.rank, lane.engine)];
    const int count = program.tasks_of(l, microbatches);
    if (machine < 0) {
      machine = size_of(machines);
      machines.push_back({.rank = lane.rank});
    }
    at(machines, machine).tasks += count;
    at(machines, machine).lanes.push_back(l);
    lanes.push_back({machine, graph.first_node(l), count});
    lane_of.insert(lane_of.end(), index(count), l);
  }
  for (int node = graph.tasks(); node < graph.nodes(); ++node) {
    lane_of.push_back(size_of(lanes));
    machines.push_back({.tasks = 1, .lanes = {size_of(lanes)}});
    lanes.push_back({size_of(machines) - 1, node, 1});
  }
  heads.assign(takes.size(), 0);
  graph.extend_heads(heads);
  begin_of.assign(index(program.ranks), TaskGraph::kNone);
  for (int task = 0; task < graph.tasks(); ++task) {
    Time& begin = at(begin_of, at(program.lanes, at(lane_of, task)).rank);
    begin = begin < 0 ? at(heads, task) : std::min(begin, at(heads, task));
  }
}

void Model::add_arcs(const TaskGraph& graph) {
  const auto machine = [&](int task) { return at(lanes, at(lane_of, task)).machine; };
  const auto fill = [&](Arcs& arcs, bool backwards) {
    arcs.first.assign(takes.size() + 1, 0);
    const auto far = [&](const TaskGraph::Arc& arc) {
      return machine(arc.before) != machine(arc.node);
    };
    for (const TaskGraph::Arc& arc : graph.arcs()) {
      if (far(arc)) ++arcs.first[index(backwards ? arc.node : arc.before) + 1];
    }
    for (std::size_t i = 1; i < arcs.first.size(); ++i) arcs.first[i] += arcs.first[i - 1];
    std::vector<std::size_t> next = arcs.first;
    arcs.all.resize(arcs.first.back());
    for (const TaskGraph::Arc& arc : graph.arcs()) {
      if (!far(arc)) continue;
      const int self = backwards ? arc.node : arc.before;
      arcs.all[next[index(self)]++] = {backwards ? arc.before : arc.node, arc.lag};
    }
  };
  fill(needs_, true);
  fill(feeds_, false);
  std::vector<std::vector<int>> before(takes.size());
  for (const TaskGraph::Arc& arc : graph.arcs()) {
    if (machine(arc.before) != machine(arc.node)) continue;
    if (at(lane_of, arc.before) != at(lane_of, arc.node)) {
      at(before, arc.node).push_back(arc.before);
    }
  }
  for (const std::vector<int>& all : before) {
    first_near_.push_back(near_.size());
    near_.insert(near_.end(), all.begin(), all.end());
  }
  first_near_.push_back(near_.size());
}

void Model::add_pools(const Program& program, int microbatches) {
  for (int p = 0; p < size_of(program.pools); ++p) {
    const auto limit = limit_of(program, at(program.pools, p), microbatches);
    if (!limit) continue;
    Pool pool{.capacity = *limit, .uses = std::vector<Use>(program.lanes.size())};
    int machine = -1;
    bool shared = false;
    for (int l = 0; l < size_of(program.lanes); ++l) {
      for (const spec::Use& use : spec::uses_of(at(program.lanes, l))) {
        if (use.pool != p) continue;
        const int other = at(lanes, l).machine;
        shared = shared || (machine >= 0 && other != machine);
        machine = other;
        // `leaving` is relative to the capacity, which may be above the asserted peak.
        const auto capacity = at(program.pools, p).capacity;
        const std::int64_t beyond =
            capacity ? std::min(use.leaving, *capacity - *limit) : use.leaving;
        at(pool.uses, l) = {use.acquires, use.acquires + use.leaving - beyond, use.releases};
      }
    }
    if (machine < 0 || shared) continue;
    at(machines, machine).pools.push_back(size_of(pools));
    pools.push_back(std::move(pool));
  }
}

namespace {

// Simulates the rows: advances each machine in turn as far as possible, until none can advance.
class RowSimulation {
 public:
  RowSimulation(const Model& model, const Rows& rows)
      : model_(model),
        rows_(rows),
        starts_(model.takes.size(), TaskGraph::kNone),
        next_(model.lanes.size(), 0),
        done_(rows.size(), 0),
        now_(rows.size(), 0),
        held_(model.pools.size(), 0) {}

  std::optional<std::vector<Time>> run() {
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      if (std::ssize(rows_[m]) != model_.machines[m].tasks) return std::nullopt;
    }
    int left = model_.tasks();
    for (bool goes = true; std::exchange(goes, false);) {
      for (int m = 0; m < size_of(rows_); ++m) {
        for (; step(m); --left) goes = true;
        if (wrong_) return std::nullopt;
      }
    }
    if (left > 0) return std::nullopt;
    return std::move(starts_);
  }

 private:
  bool step(int m) {
    const std::vector<int>& row = at(rows_, m);
    int& done = at(done_, m);
    if (done == size_of(row)) return false;
    const int l = at(row, done);
    const Model::Lane& lane = at(model_.lanes, l);
    wrong_ = lane.machine != m || at(next_, l) == lane.tasks;
    if (wrong_) return false;
    const int task = lane.first + at(next_, l);
    Time start = at(now_, m);
    for (const int other : model_.after(task)) {
      wrong_ = wrong_ || at(starts_, other) < 0;
    }
    for (const Model::Arc& arc : model_.needs_of(task)) {
      const Time before = at(starts_, arc.task);
      if (before < 0) return false;
      start = std::max(start, before + at(model_.takes, arc.task) + arc.lag);
    }
    for (const int p : at(model_.machines, m).pools) {
      const Model::Pool& pool = at(model_.pools, p);
      const Model::Use& use = at(pool.uses, l);
      std::int64_t& held = at(held_, p);
      wrong_ = wrong_ || (use.acquires > 0 && held + use.asks > pool.capacity);
      held += use.acquires - use.releases;
    }
    if (wrong_) return false;
    at(starts_, task) = start;
    at(now_, m) = start + at(model_.takes, task);
    ++at(next_, l);
    ++done;
    return true;
  }

  const Model& model_;
  const Rows& rows_;
  std::vector<Time> starts_;
  std::vector<int> next_;           // per lane
  std::vector<int> done_;           // per machine, like `now_`
  std::vector<Time> now_;           // the end of the machine's last task
  std::vector<std::int64_t> held_;  // per pool
  bool wrong_ = false;
};

}  // namespace

Time common_divisor(const Model& model) {
  Time common = 0;
  for (int task = 0; task < model.tasks(); ++task) {
    common = std::gcd(common, at(model.takes, task));
    for (const Model::Arc& arc : model.needs_of(task)) common = std::gcd(common, arc.lag);
  }
  return std::max<Time>(1, common);
}

std::optional<std::vector<Time>> starts_of(const Model& model, const Rows& rows) {
  return RowSimulation(model, rows).run();
}

}  // namespace ripeline::optimise
