#include "pytorch/wired.h"

#include <unordered_map>

#include "spec/indexing.h"

namespace ripeline::pytorch {
namespace {

using wire::WireAction;

class RankWire {
 public:
  RankWire(const CheckShape& shape, int rank) : shape_(shape), rank_(rank) {}

  // Adds a cell. Each of two overlapped computations waits for the needs of both.
  void add(const ActionCell& cell) {
    for (const Action& action : cell.actions) {
      if (is_compute(action.kind) || is_message(action.kind)) add(action, cell);
    }
  }

  std::vector<WireAction> take_wires() { return std::move(wires_); }
  std::vector<Action> take_actions() { return std::move(actions_); }

 private:
  void add(const Action& action, const ActionCell& cell) {
    WireAction wire{.name = to_string(action),
                    .peer = -1,
                    .group = -1,
                    .payload = -1,
                    .stream = -1,
                    .batch = -1,
                    .after = {}};
    const int index = size_of(actions_);
    if (is_compute(action.kind)) {
      wire.stream = 0;
      for (const Action& beside : cell.actions) add_receive(beside, wire.after);
      last_computation_ = index;
    } else {
      add_message(action, wire);
      if (last_computation_ >= 0) wire.after.push_back(last_computation_);
      if (wire.kind == WireAction::Kind::receive) received_.emplace(wire.payload, index);
    }
    wires_.push_back(std::move(wire));
    actions_.push_back(action);
  }

  // The payload of a message: a number that encodes its direction, sending stage and microbatch.
  std::int64_t payload_of(bool forward, int sender, int microbatch) const {
    constexpr std::int64_t kIndices = kMostIndex + 1;
    return (std::int64_t{forward ? 0 : 1} * shape_.map.stages() + sender) * kIndices + microbatch;
  }

  void add_message(const Action& action, WireAction& wire) const {
    const bool forward =
        action.kind == ActionKind::send_forward || action.kind == ActionKind::receive_forward;
    const bool send =
        action.kind == ActionKind::send_forward || action.kind == ActionKind::send_backward;
    const int step = forward == send ? 1 : -1;
    wire.kind = send ? WireAction::Kind::send : WireAction::Kind::receive;
    wire.peer = shape_.map.rank(action.stage + step);
    wire.payload =
        payload_of(forward, send ? action.stage : action.stage + step, action.microbatch);
  }

  void add_receive(const Action& action, std::vector<int>& after) const {
    for (const Action& need : needs_of(action, shape_.map.stages())) {
      if (shape_.map.rank(need.stage) == rank_) continue;
      const auto found =
          received_.find(payload_of(need.kind == ActionKind::forward, need.stage, need.microbatch));
      if (found != received_.end()) after.push_back(found->second);
    }
  }

  const CheckShape& shape_;
  int rank_;
  int last_computation_ = -1;
  std::unordered_map<std::int64_t, int> received_;  // payload to index
  std::vector<WireAction> wires_;
  std::vector<Action> actions_;
};

}  // namespace

WireOfCells wired(const ActionTable& table, const CheckShape& shape) {
  WireOfCells result;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    RankWire rank(shape, static_cast<int>(r));
    for (const ActionCell& cell : table.rows[r]) rank.add(cell);
    result.program.ranks.push_back(rank.take_wires());
    result.actions.push_back(rank.take_actions());
  }
  return result;
}

}  // namespace ripeline::pytorch
