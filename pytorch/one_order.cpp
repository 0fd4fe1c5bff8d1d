#include "pytorch/one_order.h"

#include <optional>

#include "pytorch/flat_map.h"
#include "spec/indexing.h"

namespace ripeline::pytorch {
namespace {

// Each rank runs until it needs a task that has not ended; the order of ranks does not matter.
class Computations {
 public:
  Computations(const ActionTable& table, const StageMap& map) : table_(table), map_(map) {
    std::size_t cells = 0;
    for (const auto& row : table.rows) cells += row.size();
    done_.reserve(cells);
  }

  std::vector<StuckRank> run() {
    std::vector<std::size_t> next(table_.rows.size(), 0);
    std::vector<std::optional<StuckRank>> stuck(next.size());
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < next.size(); ++r) {
        const auto& row = table_.rows[r];
        const std::size_t before = next[r];
        stuck[r].reset();
        while (next[r] < row.size() && !(stuck[r] = missing(static_cast<int>(r), row[next[r]]))) {
          for (const Action& a : row[next[r]].actions) {
            if (is_result(a)) done_.emplace(key_of(result_of(a)), {});
          }
          ++next[r];
        }
        progress = progress || next[r] != before;
      }
    }
    std::vector<StuckRank> all;
    for (const auto& one : stuck) {
      if (one) all.push_back(*one);
    }
    return all;
  }

 private:
  static bool is_result(const Action& a) {
    return a.kind == ActionKind::forward || a.kind == ActionKind::backward ||
           a.kind == ActionKind::backward_input;
  }

  std::optional<StuckRank> missing(int rank, const ActionCell& cell) const {
    for (const Action& action : cell.actions) {
      if (!is_compute(action.kind)) continue;
      for (const Action& need : needs_of(action, map_.stages())) {
        if (done_.find(key_of(need)) == nullptr) return StuckRank{rank, action, need};
      }
    }
    return std::nullopt;
  }

  const ActionTable& table_;
  const StageMap& map_;
  FlatSet done_;
};

bool is_forward(ActionKind kind) {
  return kind == ActionKind::send_forward || kind == ActionKind::receive_forward;
}
bool is_send(ActionKind kind) {
  return kind == ActionKind::send_forward || kind == ActionKind::send_backward;
}

// The other side of a message at the neighbouring stage: receive for a send, send for a receive.
Action other_side(const Action& message) {
  const bool forward = is_forward(message.kind);
  const bool sends = is_send(message.kind);
  Action other = message;
  other.stage += forward == sends ? 1 : -1;
  other.kind = forward ? (sends ? ActionKind::receive_forward : ActionKind::send_forward)
                       : (sends ? ActionKind::receive_backward : ActionKind::send_backward);
  return other;
}

}  // namespace

std::vector<StuckRank> stuck_ranks(const ActionTable& table, const StageMap& map) {
  return Computations(table, map).run();
}

bool has_one_order(const ActionTable& table, const StageMap& map) {
  std::vector<std::size_t> next(table.rows.size(), 0);
  // The next message of the rank, if it has one left.
  const auto message = [&](std::size_t r) -> const Action* {
    const auto& row = table.rows[r];
    for (; next[r] < row.size(); ++next[r]) {
      const ActionCell& cell = row[next[r]];
      if (cell.actions.size() == 1 && is_message(cell.actions.front().kind)) {
        return &cell.actions.front();
      }
    }
    return nullptr;
  };
  std::size_t ended = 0;
  for (bool progress = true; progress;) {
    progress = false;
    ended = 0;
    for (std::size_t r = 0; r < next.size(); ++r) {
      const Action* own = message(r);
      while (own != nullptr) {
        const Action other = other_side(*own);
        if (other.stage < 0 || other.stage >= map.stages()) return false;
        const auto peer = static_cast<std::size_t>(map.rank(other.stage));
        const Action* theirs = peer == r || peer >= next.size() ? nullptr : message(peer);
        if (theirs == nullptr || *theirs != other) break;
        ++next[r];
        ++next[peer];
        progress = true;
        own = message(r);
      }
      if (own == nullptr) ++ended;
    }
  }
  return ended == next.size();
}

}  // namespace ripeline::pytorch
