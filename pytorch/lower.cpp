#include "pytorch/lower.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace ripeline::pytorch {
namespace {

constexpr std::size_t kUnsharded = 3;  // stages whose weights a rank has; see Additions

template <class T>
T& at(std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}

enum class Stall : std::uint8_t {
  stop,  // keep every rank's order
  move,  // if no rank can proceed, take the nearest later cell that can run
};

// Adds messages in rounds through the ranks, with one cell per rank and round.
class MessageAdder {
 public:
  struct Result {
    ActionTable table;
    std::vector<StuckRank> stuck;
    std::vector<Move> moves;
  };

  MessageAdder(const ActionTable& table, const StageMap& map, Stall stall)
      : map_(map), stall_(stall) {
    rows_.resize(static_cast<std::size_t>(map.ranks));
    for (std::size_t r = 0; r < table.rows.size() && r < rows_.size(); ++r) {
      for (const ActionCell& cell : table.rows[r]) {
        if (!cell.actions.empty()) rows_[r].push_back(cell);
      }
    }
    position_.assign(rows_.size(), 0);
    result_.table.rows.resize(rows_.size());
  }

  Result run() {
    std::vector<int> left;
    for (int rank = 0; rank < map_.ranks; ++rank) {
      if (!at(rows_, rank).empty()) left.push_back(rank);
    }
    while (!left.empty()) {
      bool progress = false;
      for (const int rank : left) {
        if (missing(next(rank))) continue;
        take(rank);
        progress = true;
      }
      std::erase_if(left, [this](int rank) { return ended(rank); });
      if (!progress && (stall_ == Stall::stop || !move_one(left))) {
        name_stuck(left);
        break;
      }
    }
    return std::move(result_);
  }

 private:
  struct MissingNeed {
    Action action;
    Action need;
  };

  const ActionCell& next(int rank) const { return at(at(rows_, rank), at(position_, rank)); }
  bool ended(int rank) const {
    return static_cast<std::size_t>(at(position_, rank)) == at(rows_, rank).size();
  }

  // The first need of the cell whose result does not exist yet, with the action that needs it.
  std::optional<MissingNeed> missing(const ActionCell& cell) const {
    for (const Action& action : cell.actions) {
      if (!is_compute(action.kind)) continue;
      for (const Action& need : needs_of(action, map_.stages())) {
        if (!done_.contains(key_of(need))) return MissingNeed{action, need};
      }
    }
    return std::nullopt;
  }

  void take(int rank) {
    const ActionCell& cell = next(rank);
    at(result_.table.rows, rank).push_back(cell);
    for (const Action& action : cell.actions) {
      if (!is_compute(action.kind)) continue;
      done_.insert(key_of(result_of(action)));
      if (const auto message = message_of(action, map_)) {
        at(result_.table.rows, rank).push_back({.actions = {message->send}});
        at(result_.table.rows, map_.rank(message->receive.stage))
            .push_back({.actions = {message->receive}});
      }
    }
    ++at(position_, rank);
  }

  // Makes the shortest move over all ranks; among equally short moves, that of the first rank.
  bool move_one(const std::vector<int>& left) {
    int best_rank = -1;
    int best = 0;
    for (const int rank : left) {
      const auto& row = at(rows_, rank);
      for (int i = at(position_, rank) + 1; i < static_cast<int>(row.size()); ++i) {
        const int distance = i - at(position_, rank);
        if (best_rank >= 0 && distance >= best) break;
        if (missing(at(row, i))) continue;
        best_rank = rank;
        best = distance;
      }
    }
    if (best_rank < 0) return false;
    auto& row = at(rows_, best_rank);
    const auto to = row.begin() + at(position_, best_rank);
    result_.moves.push_back({.cell = *(to + best),
                             .row = best_rank + 1,
                             .from = at(position_, best_rank) + best + 1,
                             .to = at(position_, best_rank) + 1});
    std::rotate(to, to + best, to + best + 1);
    return true;
  }

  void name_stuck(const std::vector<int>& left) {
    for (const int rank : left) {
      if (const auto what = missing(next(rank))) {
        result_.stuck.push_back({.rank = rank, .action = what->action, .need = what->need});
      }
    }
  }

  const StageMap& map_;
  Stall stall_;
  std::vector<std::vector<ActionCell>> rows_;  // without blanks
  std::vector<int> position_;                  // per rank
  std::unordered_set<std::uint64_t> done_;     // results, see result_of()
  Result result_;
};

// --- UNSHARD, RESHARD and REDUCE_GRAD ---

// The stages that compute next, each once: the nearest kUnsharded stages, and those that compute in
// the same cell as the last of these.
class NextStages {
 public:
  // Adds a cell; cells are added from the last one to the first.
  void prepend(const ActionCell& cell, std::size_t index) {
    std::vector<Next> all;
    const auto add = [&all](const Next& next) {
      const auto same = [&next](const Next& other) { return other.stage == next.stage; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(next);
    };
    for (const Action& action : cell.actions) add({action.stage, index});
    for (const Next& next : next_) add(next);
    while (all.size() > kUnsharded && all.back().cell != all[kUnsharded - 1].cell) all.pop_back();
    next_ = std::move(all);
  }

  [[nodiscard]] std::vector<int> stages() const {
    std::vector<int> stages;
    for (const Next& next : next_) stages.push_back(next.stage);
    return stages;
  }

 private:
  struct Next {
    int stage = 0;
    std::size_t cell = 0;
  };
  std::vector<Next> next_;
};

// Visits each cell once, from the last to the first, since at each cell the stages with weights are
// those that compute next from that cell on.
std::vector<ActionCell> with_shards(const std::vector<ActionCell>& row) {
  std::vector<ActionCell> reversed;
  NextStages next;
  std::vector<int> after;  // stages with weights at the cell after, in the order of computing
  // Adds the UNSHARD and RESHARD cells between a cell and the one after it, in reverse order.
  const auto change = [&reversed](std::vector<int> from, const std::vector<int>& to) {
    const auto is_in = [](const std::vector<int>& stages, int stage) {
      return std::find(stages.begin(), stages.end(), stage) != stages.end();
    };
    for (auto stage = to.rbegin(); stage != to.rend(); ++stage) {
      if (!is_in(from, *stage)) reversed.push_back({.actions = {{ActionKind::unshard, *stage}}});
    }
    std::sort(from.begin(), from.end());
    for (auto stage = from.rbegin(); stage != from.rend(); ++stage) {
      if (!is_in(to, *stage)) reversed.push_back({.actions = {{ActionKind::reshard, *stage}}});
    }
  };
  for (std::size_t i = row.size(); i-- > 0;) {
    if (row[i].actions.empty()) continue;
    next.prepend(row[i], i);
    const std::vector<int> here = next.stages();
    change(here, after);
    reversed.push_back(row[i]);
    after = here;
  }
  change({}, after);
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::vector<ActionCell> with_reductions(const std::vector<ActionCell>& row, int microbatches) {
  std::vector<ActionCell> result;
  std::unordered_map<int, int> done;  // per stage: the number of its backwards
  for (const ActionCell& cell : row) {
    result.push_back(cell);
    for (const Action& action : cell.actions) {
      if (action.kind != ActionKind::backward && action.kind != ActionKind::backward_weight) {
        continue;
      }
      if (++done[action.stage] == microbatches) {
        result.push_back({.actions = {{ActionKind::reduce_grad, action.stage}}});
      }
    }
  }
  return result;
}

}  // namespace

std::string name_of(Placement placement) {
  switch (placement) {
    case Placement::chain:
      return "chain";
    case Placement::loop:
      return "loop";
    case Placement::v:
      return "v";
  }
  return "";
}

std::optional<StageMap> place_stages(Placement placement, int ranks, int stages) {
  if (ranks < 1 || stages < 1 || stages % ranks != 0) return std::nullopt;
  if (placement == Placement::chain && stages != ranks) return std::nullopt;
  StageMap map{.ranks = ranks, .rank_of = {}};
  for (int s = 0; s < stages; ++s) {
    const bool up = placement == Placement::v && (s / ranks) % 2 == 1;
    map.rank_of.push_back(up ? ranks - 1 - s % ranks : s % ranks);
  }
  return map;
}

std::vector<Action> needs_of(const Action& action, int stages) {
  std::vector<Action> needs;
  switch (action.kind) {
    case ActionKind::forward:
      if (action.stage > 0) {
        needs.push_back({ActionKind::forward, action.stage - 1, action.microbatch});
      }
      break;
    case ActionKind::backward:
    case ActionKind::backward_input:
      needs.push_back({ActionKind::forward, action.stage, action.microbatch});
      if (action.stage + 1 < stages) {
        needs.push_back({ActionKind::backward_input, action.stage + 1, action.microbatch});
      }
      break;
    case ActionKind::backward_weight:
      needs.push_back({ActionKind::backward_input, action.stage, action.microbatch});
      break;
    default:
      break;
  }
  return needs;
}

Action result_of(const Action& action) {
  Action result = action;
  if (action.kind == ActionKind::backward) result.kind = ActionKind::backward_input;
  return result;
}

std::optional<Message> message_of(const Action& action, const StageMap& map) {
  const bool forward = action.kind == ActionKind::forward;
  if (!forward && action.kind != ActionKind::backward &&
      action.kind != ActionKind::backward_input) {
    return std::nullopt;
  }
  const int to = forward ? action.stage + 1 : action.stage - 1;
  if (to < 0 || to >= map.stages() || map.rank(to) == map.rank(action.stage)) return std::nullopt;
  return Message{.send = {forward ? ActionKind::send_forward : ActionKind::send_backward,
                          action.stage, action.microbatch},
                 .receive = {forward ? ActionKind::receive_forward : ActionKind::receive_backward,
                             to, action.microbatch}};
}

LoadedSchedule as_loaded(const ActionTable& table, const StageMap& map, int microbatches,
                         const Additions& additions) {
  ActionTable all = table;
  for (auto& row : all.rows) {
    if (additions.shards) row = with_shards(row);
    if (additions.reduce) row = with_reductions(row, microbatches);
  }
  auto added = MessageAdder(all, map, Stall::stop).run();
  return {std::move(added.table), std::move(added.stuck)};
}

LoadableOrder make_loadable(const ActionTable& table, const StageMap& map) {
  auto added = MessageAdder(table, map, Stall::move).run();
  return {computations_of(added.table), std::move(added.moves), std::move(added.stuck)};
}

ActionTable computations_of(const ActionTable& table) {
  ActionTable result;
  for (const auto& row : table.rows) {
    auto& out = result.rows.emplace_back();
    std::copy_if(row.begin(), row.end(), std::back_inserter(out), [](const ActionCell& cell) {
      return !cell.actions.empty() && is_compute(cell.actions.front().kind);
    });
  }
  return result;
}

}  // namespace ripeline::pytorch
