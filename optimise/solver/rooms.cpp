#include "optimise/solver/rooms.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ripeline::optimise {
namespace {

using Number = CpModel::Value;

Number divided_up(Number a, Number b) { return a / b + (a % b > 0 ? 1 : 0); }

class Room {
 public:
  Room(const Model& model, const OrderGraph& graph, const Model::Pool& pool, CpDraft& draft)
      : model_(model), graph_(graph), pool_(pool), draft_(draft) {}

  // Adds the pool's constraints for each block of a machine, if they can be stated.
  void add(int machine) {
    for (const int lane : at(model_.machines, machine).lanes) {
      const Model::Use& use = at(pool_.uses, lane);
      if (use.acquires > 0 || use.releases > 0) lanes_.push_back(lane);
    }
    for (int b = 0; b < size_of(graph_.blocks()); ++b) {
      if (at(graph_.blocks(), b).machine != machine) continue;
      block_ = b;
      if (!add_clauses()) add_stays();
    }
  }

 private:
  // The numbers of a lane's tasks before the block and in the block.
  struct Part {
    int lane = 0;
    int before = 0;  // tasks
    int within = 0;
  };
  // The amount that each task of lane `from` holds until the task of lane `to` with the same number
  // ends. It is held for ever if `to` is -1.
  struct Stay {
    int from = 0;
    int to = -1;
    Number amount = 0;
  };

  [[nodiscard]] const OrderGraph::Block& block() const { return at(graph_.blocks(), block_); }
  [[nodiscard]] int task(int lane, int number) const {
    return at(model_.lanes, lane).first + number;
  }
  [[nodiscard]] Number net(int lane) const {
    return at(pool_.uses, lane).acquires - at(pool_.uses, lane).releases;
  }
  [[nodiscard]] int variable(int task) const { return at(draft_.variable_of, task); }

  [[nodiscard]] Part part_of(int lane) const {
    Part part{lane};
    const int first = block().first_position;
    const int last = first + size_of(block().tasks);
    for (int k = 0; k < at(model_.lanes, lane).tasks; ++k) {
      if (graph_.block_of(task(lane, k)) == block_) {
        ++part.within;
      } else if (graph_.position_of(task(lane, k)) < last) {
        ++part.before;
      }
    }
    return part;
  }

  // Task `f` must start after the end of `task` or of `other`; each alone frees enough room.
  void add_clause(int f, int task, int other) {
    const auto is_left_out = [&](int t) { return t >= 0 && variable(t) < 0; };
    if (is_left_out(f) || is_left_out(task) || is_left_out(other)) return;
    const auto ends_before = [&](int t) {
      return at(graph_.starts(), f) >= at(graph_.starts(), t) + graph_.takes(t);
    };
    int literal = CpModel::kAlways;
    if (task >= 0 && other >= 0) {
      literal = draft_.add({0, 1}, draft_.is_hinted && ends_before(task) ? 1 : 0);
      draft_.model.add_after(variable(f), variable(other), graph_.takes(other), -literal - 1);
    } else if (task < 0) {
      task = other;
    }
    if (task < 0) {
      // No task can free the room, so this adds a constraint that is never satisfied.
      draft_.model.linears.push_back({{{variable(f), 1}}, draft_.horizon + 1});
      return;
    }
    draft_.model.add_after(variable(f), variable(task), graph_.takes(task), literal);
  }

  // Adds clauses for this block; returns false if too many lanes use the pool.
  bool add_clauses() {
    std::vector<Part> asking;
    std::vector<Part> giving;
    Number held = 0;
    for (const int lane : lanes_) {
      const Part part = part_of(lane);
      held += net(lane) * part.before;
      if (part.within == 0) continue;
      if (at(pool_.uses, lane).acquires > 0) {
        asking.push_back(part);
      } else {
        giving.push_back(part);
      }
    }
    if (asking.empty()) return true;
    if (asking.size() > 1 || giving.size() > 2) return false;
    const Part& f = asking.front();
    const Number asks = at(pool_.uses, f.lane).asks;
    for (int j = 0; j < f.within; ++j) {
      const Number lacks = held + asks + net(f.lane) * j - pool_.capacity;
      if (lacks > 0) add_clauses(task(f.lane, f.before + j), f.before + j, giving, lacks);
    }
    return true;
  }

  void add_clauses(int f, int number, const std::vector<Part>& giving, Number lacks) {
    // The n-th task of the part in the block; -1 if the task cannot run before `f`.
    const auto nth = [&](const Part& part, Number n) {
      if (n > part.within) return -1;
      const int found = part.before + static_cast<int>(n) - 1;
      return found >= number && follows(f, number, part.lane) ? -1 : task(part.lane, found);
    };
    if (giving.empty()) return add_clause(f, -1, -1);
    const Number gives = -net(giving.front().lane);
    if (giving.size() == 1) {
      return add_clause(f, nth(giving.front(), divided_up(lacks, gives)), -1);
    }
    // Either more than k tasks of the first lane, or enough of the other lane, must end before `f`.
    // If k + 1 leads to the same number for the other lane, the clause for k + 1 implies this one.
    const Number other_gives = -net(giving.back().lane);
    for (Number k = 0; lacks > gives * k; ++k) {
      const Number others = divided_up(lacks - gives * k, other_gives);
      const Number rest = lacks - gives * (k + 1);
      const bool is_last = k == giving.front().within;
      if (!is_last && rest > 0 && divided_up(rest, other_gives) == others) continue;
      add_clause(f, nth(giving.front(), k + 1), nth(giving.back(), others));
      if (is_last) break;
    }
  }

  // Whether the task of `lane` with the same number as `f` needs `f`.
  bool follows(int f, int number, int lane) {
    if (number >= at(model_.lanes, lane).tasks) return false;
    const int first = model_.even ? 0 : number;
    const int from = model_.even ? at(model_.lanes, at(model_.lane_of, f)).first : f;
    if (followed_.empty()) followed_.assign(model_.lanes.size(), {-1, false});
    auto& [asked, known] = at(followed_, lane);
    if (asked != from) {
      asked = from;
      known = needs_between(model_, from, task(lane, first)).has_value();
    }
    return known;
  }

  // Matches lanes that acquire with lanes that release; false if a release has no matching lane.
  bool find_stays() {
    if (std::exchange(found_, true)) return found_all_;
    std::vector<Number> acquired(model_.lanes.size(), 0);
    std::vector<Number> released(model_.lanes.size(), 0);
    const auto match = [&](int from, int to) {
      const Number amount = std::min(at(acquired, from), at(released, to));
      if (amount <= 0) return;
      at(acquired, from) -= amount;
      at(released, to) -= amount;
      stays_.push_back({from, to, amount});
    };
    for (const int lane : lanes_) {
      at(acquired, lane) = at(pool_.uses, lane).acquires;
      at(released, lane) = at(pool_.uses, lane).releases;
      match(lane, lane);
    }
    // Every matching of lanes is correct; lanes near each other give the tightest constraints.
    std::vector<std::tuple<int, int, int>> pairs;
    for (const int from : lanes_) {
      for (const int to : lanes_) {
        if (at(acquired, from) == 0 || at(released, to) == 0) continue;
        if (const auto needs = needs_between_lanes(from, to)) pairs.emplace_back(*needs, from, to);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [needs, from, to] : pairs) match(from, to);
    for (const int lane : lanes_) {
      if (at(released, lane) > 0) found_all_ = false;
      if (at(acquired, lane) > 0) stays_.push_back({lane, -1, at(acquired, lane)});
    }
    return found_all_;
  }

  [[nodiscard]] std::optional<int> needs_between_lanes(int from, int to) const {
    const int count = at(model_.lanes, from).tasks;
    if (count == 0 || at(model_.lanes, to).tasks != count) return std::nullopt;
    for (int k = 1; !model_.even && k < count; ++k) {
      if (!needs_between(model_, task(from, k), task(to, k))) return std::nullopt;
    }
    return needs_between(model_, task(from, 0), task(to, 0));
  }

  // The side of the task: -1 before the block, 0 in the block, 1 after the block.
  [[nodiscard]] int side_of(int task) const {
    if (graph_.block_of(task) == block_) return 0;
    return graph_.position_of(task) < block().first_position ? -1 : 1;
  }

  void add_stays() {
    if (!find_stays()) return;
    CpModel::Cumulative held{.capacity = pool_.capacity};
    for (const Stay& stay : stays_) {
      for (int k = 0; k < at(model_.lanes, stay.from).tasks; ++k) {
        const int from = task(stay.from, k);
        const int to = stay.to < 0 ? -1 : task(stay.to, k);
        const int side = to < 0 ? 1 : side_of(to);
        if (side_of(from) > 0 || side < 0) continue;
        if (side_of(from) < 0 && side > 0) {
          held.capacity -= stay.amount;
        } else {
          held.demands.emplace_back(interval(from, to), stay.amount);
        }
      }
    }
    for (const int lane : lanes_) {
      // Room that a task must leave free at its start may count as held until its end, since the
      // machine runs nothing else in that time.
      const Model::Use& use = at(pool_.uses, lane);
      if (use.asks <= use.acquires) continue;
      for (int k = 0; k < at(model_.lanes, lane).tasks; ++k) {
        const int t = task(lane, k);
        if (side_of(t) == 0) held.demands.emplace_back(interval(t, t), use.asks - use.acquires);
      }
    }
    held.capacity = std::max<Number>(held.capacity, 0);
    draft_.model.cumulatives.push_back(std::move(held));
  }

  // The interval from the start of `from` to the end of `to`, limited to the block.
  int interval(int from, int to) {
    CpModel::Interval made;
    const bool starts = side_of(from) == 0;
    const bool ends = to >= 0 && side_of(to) == 0;
    if (starts) made.start.variable = variable(from);
    made.end = ends ? CpModel::Affine{variable(to), 1, graph_.takes(to)}
                    : CpModel::Affine{.offset = draft_.horizon};
    if (starts && ends && from != to) {
      const Number stays =
          draft_.is_hinted ? at(graph_.starts(), to) + graph_.takes(to) - at(graph_.starts(), from)
                           : 0;
      made.size.variable = draft_.add({0, draft_.horizon}, stays);
      draft_.model.linears.push_back(
          {{{variable(from), 1}, {made.size.variable, 1}, {variable(to), -1}},
           graph_.takes(to),
           graph_.takes(to)});
    } else if (starts && ends) {
      made.size = {.offset = graph_.takes(to)};
    } else if (starts) {
      made.size = {variable(from), -1, draft_.horizon};
    } else {
      made.size = made.end;
    }
    return draft_.model.add(made);
  }

  const Model& model_;
  const OrderGraph& graph_;
  const Model::Pool& pool_;
  CpDraft& draft_;
  std::vector<int> lanes_;  // lanes that acquire or release
  int block_ = 0;
  bool found_ = false;
  bool found_all_ = true;
  std::vector<Stay> stays_;
  std::vector<std::pair<int, bool>> followed_;  // per lane: the last task asked about, the answer
};

}  // namespace

void add_rooms(const Model& model, const OrderGraph& graph, CpDraft& draft) {
  for (int m = 0; m < size_of(model.machines); ++m) {
    for (const int pool : at(model.machines, m).pools) {
      Room(model, graph, at(model.pools, pool), draft).add(m);
    }
  }
}

std::optional<int> needs_between(const Model& model, int from, int to) {
  std::vector<std::pair<int, int>> met = {{to, 0}};
  std::vector<bool> seen(model.takes.size(), false);
  for (int i = 0; i < size_of(met); ++i) {
    const auto [task, needs] = at(met, i);
    if (task == from) return needs;
    const auto meet = [&](int other, int more) {
      // Paths from `from` visit only tasks whose head is at least that of `from`.
      if (seen[static_cast<std::size_t>(other)] || at(model.heads, other) < at(model.heads, from)) {
        return;
      }
      seen[static_cast<std::size_t>(other)] = true;
      met.emplace_back(other, more);
    };
    for (const Model::Arc& arc : model.needs_of(task)) meet(arc.task, needs + 1);
    for (const int other : model.after(task)) meet(other, needs + 1);
  }
  return std::nullopt;
}

}  // namespace ripeline::optimise
