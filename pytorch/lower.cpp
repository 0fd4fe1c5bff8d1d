#include "pytorch/lower.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace ripeline::spec {
namespace {

constexpr std::size_t kMostActiveStages = 3;

template <class T>
T& at(std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}

std::uint64_t key_of(const Action& a) {
  constexpr std::uint64_t kIndices = kMostIndex + 1;
  return (static_cast<std::uint64_t>(a.kind) * kIndices + static_cast<std::uint64_t>(a.stage)) *
             kIndices +
         static_cast<std::uint64_t>(a.microbatch + 1);
}

// Rounds in the order of ranks, one cell per rank and round, as PyTorch's own lowering.
class ScheduleLowering {
 public:
  ScheduleLowering(const ActionTable& table, const StageMap& map, Stall stall)
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

  LoweredSchedule run() {
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

  // What of all that the cell needs has not ended.
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

  // The least move over all ranks, of those the first.
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
        result_.stuck.push_back({.rank = rank,
                                 .position = at(position_, rank),
                                 .action = what->action,
                                 .need = what->need});
      }
    }
  }

  const StageMap& map_;
  Stall stall_;
  std::vector<std::vector<ActionCell>> rows_;  // without blanks
  std::vector<int> position_;                  // per rank
  std::unordered_set<std::uint64_t> done_;     // results, see result_of()
  LoweredSchedule result_;
};

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

LoweredSchedule add_messages(const ActionTable& table, const StageMap& map, Stall stall) {
  return ScheduleLowering(table, map, stall).run();
}

ActionTable add_reduce_grad(const ActionTable& table, int microbatches) {
  ActionTable result;
  std::unordered_map<int, int> done;  // backwards of a stage
  for (const auto& row : table.rows) {
    auto& out = result.rows.emplace_back();
    for (const ActionCell& cell : row) {
      out.push_back(cell);
      for (const Action& action : cell.actions) {
        if (action.kind != ActionKind::backward && action.kind != ActionKind::backward_weight) {
          continue;
        }
        if (++done[action.stage] == microbatches) {
          out.push_back({.actions = {{ActionKind::reduce_grad, action.stage}}});
        }
      }
    }
  }
  return result;
}

ActionTable add_unshard_reshard(const ActionTable& table) {
  ActionTable result;
  for (const auto& row : table.rows) {
    auto& out = result.rows.emplace_back();
    std::vector<int> active;  // in the order of their UNSHARD
    const auto reshard = [&out](int stage) {
      out.push_back({.actions = {{ActionKind::reshard, stage}}});
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::vector<int> soon;  // the stages that compute next, each once
      for (std::size_t j = i; j < row.size() && soon.size() < kMostActiveStages; ++j) {
        for (const Action& action : row[j].actions) {
          if (std::find(soon.begin(), soon.end(), action.stage) == soon.end()) {
            soon.push_back(action.stage);
          }
        }
      }
      const auto is_soon = [&soon](int s) {
        return std::find(soon.begin(), soon.end(), s) != soon.end();
      };
      for (const int stage : active) {
        if (!is_soon(stage)) reshard(stage);
      }
      std::erase_if(active, [&](int stage) { return !is_soon(stage); });
      for (const int stage : soon) {
        if (std::find(active.begin(), active.end(), stage) != active.end()) continue;
        active.push_back(stage);
        out.push_back({.actions = {{ActionKind::unshard, stage}}});
      }
      out.push_back(row[i]);
    }
    for (const int stage : active) reshard(stage);
  }
  return result;
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

}  // namespace ripeline::spec
