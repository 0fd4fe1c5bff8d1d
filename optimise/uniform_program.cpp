#include "optimise/uniform_program.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace ripeline::optimise {
namespace {

using core::OpKind;
using spec::Program;

constexpr std::array kKinds = {OpKind::forward, OpKind::backward_input, OpKind::backward_weight};
constexpr int kForward = 0;
constexpr int kInput = 1;
constexpr int kWeight = 2;

class Reading {
 public:
  Reading(const Program& program, int microbatches, const Model& model)
      : program_(program), model_(model), stages_(size_of(program.stages)) {
    read_.problem.ranks = program.ranks;
    read_.problem.microbatches = microbatches;
    read_.is_exact = model.even;
  }

  std::optional<UniformProgram> read() {
    if (model_.left_out || !has_placement() || !has_lanes() || !has_needs() || !has_costs() ||
        !has_capacity()) {
      return std::nullopt;
    }
    return std::move(read_);
  }

 private:
  [[nodiscard]] int lane(int kind, int stage) const {
    return at(read_.lanes, kind * stages_ + stage);
  }

  bool has_placement() {
    const int p = program_.ranks;
    const bool v = stages_ == 2 * p;
    read_.problem.placement = v ? pytorch::Placement::v : pytorch::Placement::chain;
    if (!v && stages_ != p) return false;
    for (int s = 0; s < stages_; ++s) {
      if (at(program_.stages, s).rank != (s < p ? s : 2 * p - 1 - s)) return false;
    }
    return true;
  }

  bool has_lanes() {
    if (program_.ops.size() != kKinds.size() || size_of(program_.lanes) != 3 * stages_) {
      return false;
    }
    for (const OpKind kind : kKinds) {
      const auto op = std::find_if(program_.ops.begin(), program_.ops.end(),
                                   [&](const spec::Op& o) { return o.kind == kind; });
      if (op == program_.ops.end() || op->engine != core::Engine::compute) return false;
      for (int s = 0; s < stages_; ++s) {
        read_.lanes.push_back(program_.lane_of(static_cast<int>(op - program_.ops.begin()), s));
      }
    }
    return std::all_of(read_.lanes.begin(), read_.lanes.end(), [&](int l) {
      return at(model_.lanes, l).tasks == read_.problem.microbatches;
    });
  }

  [[nodiscard]] bool has_needs() const {
    std::set<std::pair<int, int>> expected;
    for (int s = 0; s < stages_; ++s) {
      if (s > 0) expected.emplace(lane(kForward, s - 1), lane(kForward, s));
      expected.emplace(lane(kForward, s), lane(kInput, s));
      if (s + 1 < stages_) expected.emplace(lane(kInput, s + 1), lane(kInput, s));
      expected.emplace(lane(kInput, s), lane(kWeight, s));
    }
    std::set<std::pair<int, int>> found;
    for (const spec::Edge& edge : program_.edges) {
      if (edge.of != spec::Of::same) return false;
      found.emplace(edge.producer, edge.consumer);
    }
    return found == expected && program_.edges.size() == expected.size();
  }

  bool has_costs() {
    Uniform& u = read_.problem;
    const std::array<Time*, 3> costs = {&u.forward, &u.input, &u.weight};
    for (int kind = kForward; kind <= kWeight; ++kind) {
      std::vector<Time> takes;
      for (int s = 0; s < stages_; ++s) {
        const auto first = model_.takes.begin() + at(model_.lanes, lane(kind, s)).first;
        takes.insert(takes.end(), first, first + u.microbatches);
      }
      *costs[static_cast<std::size_t>(kind)] = mean(takes);
      if (mean(takes) <= 0) return false;
    }
    std::vector<Time> latencies;
    for (int task = 0; task < model_.tasks(); ++task) {
      for (const Model::Arc& arc : model_.needs_of(task)) latencies.push_back(arc.lag);
    }
    u.latency = mean(latencies);
    return true;
  }

  Time mean(const std::vector<Time>& times) {
    if (times.empty()) return 0;
    const bool same =
        std::adjacent_find(times.begin(), times.end(), std::not_equal_to<>()) == times.end();
    read_.is_exact = read_.is_exact && same;
    return same ? times.front()
                : std::accumulate(times.begin(), times.end(), Time{0}) / std::ssize(times);
  }

  // Whether F acquires, I and W release, and all ranks (or none) have one and the same capacity.
  bool has_capacity() {
    Uniform& u = read_.problem;
    const std::int64_t most = std::int64_t{chunks_of(u)} * u.microbatches;
    struct Amounts {
      std::int64_t capacity = 0;
      std::int64_t all = 1;
      std::int64_t late = 1;  // released by W
      bool operator==(const Amounts&) const = default;
    };
    std::optional<Amounts> memory;
    std::int64_t left = 0;  // the most that a forward must leave
    int ranks = 0;
    for (const Model::Machine& machine : model_.machines) {
      if (machine.pools.size() > 1) return false;
      if (machine.pools.empty()) continue;
      ++ranks;
      const Model::Pool& pool = at(model_.pools, machine.pools.front());
      const auto is = [&](int l, std::int64_t acquires, std::int64_t releases) {
        const Model::Use& use = at(pool.uses, l);
        left = std::max(left, use.asks - use.acquires);
        return use.acquires == acquires && use.releases == releases;
      };
      for (int s = 0; s < stages_; ++s) {
        if (at(program_.stages, s).rank != machine.rank) continue;
        const std::int64_t all = at(pool.uses, lane(kForward, s)).acquires;
        const std::int64_t early = at(pool.uses, lane(kInput, s)).releases;
        if (all <= early || !is(lane(kForward, s), all, 0) || !is(lane(kInput, s), 0, early) ||
            !is(lane(kWeight, s), 0, all - early)) {
          return false;
        }
        const Amounts held{pool.capacity, all, all - early};
        if (memory.value_or(held) != held) return false;
        memory = held;
      }
    }
    if (ranks != 0 && ranks != u.ranks) return false;
    Amounts held = memory.value_or(Amounts{.capacity = most});
    held.capacity -= left;
    read_.is_exact = read_.is_exact && left == 0;
    u.memory = static_cast<int>(std::min(most, held.capacity / held.all));
    if (held.late == held.all) return true;
    const std::int64_t capacity = std::min(held.capacity, most * held.all);
    if (capacity > INT32_MAX) return false;
    read_.bytes = u;
    read_.bytes->memory = static_cast<int>(capacity);
    read_.bytes->activation = static_cast<int>(held.all);
    read_.bytes->after_input = static_cast<int>(held.late);
    return true;
  }

  const Program& program_;
  const Model& model_;
  int stages_;
  UniformProgram read_;
};

}  // namespace

Rows UniformProgram::rows_of(const FoundOrder& order, const Model& model) const {
  const auto stages = static_cast<int>(lanes.size() / kKinds.size());
  Rows rows(model.machines.size());
  for (const auto& row : order.rows) {
    for (const pytorch::Action& action : row) {
      const int kind = action.kind == pytorch::ActionKind::forward          ? kForward
                       : action.kind == pytorch::ActionKind::backward_input ? kInput
                                                                            : kWeight;
      const int lane = at(lanes, kind * stages + action.stage);
      at(rows, at(model.lanes, lane).machine).push_back(lane);
    }
  }
  return rows;
}

std::optional<UniformProgram> uniform_of(const Program& program, int microbatches,
                                         const Model& model) {
  return Reading(program, microbatches, model).read();
}

}  // namespace ripeline::optimise
