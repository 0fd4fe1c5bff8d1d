// The rules for compute_comms: sends and receives, REDUCE_GRAD, UNSHARD and RESHARD.
#include "pytorch/messages.h"

#include <map>

#include <fmt/format.h>

namespace ripeline::pytorch {

namespace {

bool is_send(ActionKind kind) {
  return kind == ActionKind::send_forward || kind == ActionKind::send_backward;
}

// The computation whose result a send or receive carries.
Action producer_of(const Action& message) {
  switch (message.kind) {
    case ActionKind::send_forward:
      return {ActionKind::forward, message.stage, message.microbatch};
    case ActionKind::receive_forward:
      return {ActionKind::forward, message.stage - 1, message.microbatch};
    case ActionKind::send_backward:
      return {ActionKind::backward_input, message.stage, message.microbatch};
    default:
      return {ActionKind::backward_input, message.stage + 1, message.microbatch};
  }
}

// The position of the I or the B, depending on which the file has.
const CellPosition* find_either(const ScheduleCheck& checking, Action action) {
  const CellPosition* position = checking.find(action);
  if (position == nullptr && action.kind == ActionKind::backward_input) {
    action.kind = ActionKind::backward;
    position = checking.find(action);
  }
  return position;
}

// The reason why PyTorch has nothing to send or receive for this action.
std::string why_no_message(const ScheduleCheck& checking, const Action& action) {
  const int other = producer_of(action).stage != action.stage ? producer_of(action).stage
                    : action.kind == ActionKind::send_forward ? action.stage + 1
                                                              : action.stage - 1;
  if (other < 0 || other >= checking.map().stages()) {
    return fmt::format("stage {} is the {}: there is nobody to {}", action.stage,
                       other < 0 ? "first" : "last",
                       is_send(action.kind) ? "send to" : "receive from");
  }
  if (checking.map().rank(action.stage) == checking.map().rank(other)) {
    return fmt::format("stages {} and {} are both on rank {}: the result is handed over, not sent",
                       action.stage, other, checking.map().rank(other));
  }
  const Action producer = producer_of(action);
  return fmt::format(
      "nothing computes what it would {}: there is no {} of microbatch {} at stage {}",
      is_send(action.kind) ? "send" : "receive",
      producer.kind == ActionKind::forward ? "forward" : "backward", producer.microbatch,
      producer.stage);
}

void check_pair(ScheduleCheck& checking, const Message& message, CellPosition computed) {
  const CellPosition* send = checking.find(message.send);
  const CellPosition* receive = checking.find(message.receive);
  const std::string send_name = to_string(message.send);
  const std::string receive_name = to_string(message.receive);
  const CellPosition receiver{checking.map().rank(message.receive.stage) + 1, 0};
  if (send == nullptr) {
    checking.found("unpaired", receive != nullptr ? *receive : CellPosition{computed.row, 0},
                   receive != nullptr ? receive_name : send_name,
                   receive != nullptr
                       ? fmt::format("there is no {} for it", send_name)
                       : fmt::format("nobody sends what rank {} needs", receiver.row - 1));
  } else if (receive == nullptr) {
    checking.found("unpaired", *send, send_name,
                   fmt::format("there is no {} for it", receive_name));
  }
  if (send != nullptr && send->before(computed)) {
    checking.found("order", *send, send_name,
                   fmt::format("it sends what is computed later, in column {}", computed.column));
  }
}

}  // namespace

void check_messages(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    if (const auto message = message_of(action, shape.map)) {
      check_pair(checking, *message, position);
    }
    for (const Action& need :
         is_compute(action.kind) ? needs_of(action, shape.map.stages()) : std::vector<Action>{}) {
      if (need.stage == action.stage) continue;
      const auto message = message_of(need, shape.map);
      const CellPosition* receive = message ? checking.find(message->receive) : nullptr;
      if (receive != nullptr && position.before(*receive)) {
        checking.found("order", position, to_string(action),
                       fmt::format("it needs {}, which the rank does later, in column {}",
                                   to_string(message->receive), receive->column));
      }
    }
    if (!is_message(action.kind)) return;
    const Action producer = producer_of(action);
    const bool there = producer.stage >= 0 && producer.stage < shape.map.stages();
    const auto message = there ? message_of(producer, shape.map) : std::nullopt;
    if (!message || find_either(checking, producer) == nullptr) {
      checking.found("message", position, to_string(action), why_no_message(checking, action));
    }
  });
}

namespace {

void check_reduce(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  std::map<int, CellPosition> last;  // the last backward of each stage
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight) {
      last[action.stage] = position;
    }
  });
  for (int s = 0; s < shape.map.stages(); ++s) {
    const Action reduce{ActionKind::reduce_grad, s};
    const CellPosition* position = checking.find(reduce);
    if (position == nullptr && !checking.options().reduce) continue;
    if (position == nullptr) {
      checking.found("reduce", {shape.map.rank(s) + 1, 0}, to_string(reduce),
                     fmt::format("the gradients of stage {} are never reduced", s));
    } else if (position->before(last[s])) {
      checking.found(
          "reduce", *position, to_string(reduce),
          fmt::format("a backward of stage {} comes later, in column {}", s, last[s].column));
    }
  }
}

// The state of a stage's weights in FSDP.
enum class Weights : std::uint8_t { sharded, gathering, gathered };

}  // namespace

// A file without UNSHARD and RESHARD is accepted, since it does not tell whether FSDP is used.
void check_reduce_and_shard(ScheduleCheck& checking) {
  check_reduce(checking);
  bool any = false;
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition) {
    any = any || action.kind == ActionKind::unshard || action.kind == ActionKind::reshard;
  });
  if (!any) return;
  std::map<int, std::pair<Weights, CellPosition>> weights;  // per stage: state, last UNSHARD
  const auto wrong = [&](const Action& action, CellPosition position, std::string message) {
    checking.found("shard", position, to_string(action), std::move(message));
  };
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    auto& [state, since] = weights[action.stage];
    if (action.kind == ActionKind::unshard) {
      if (state != Weights::sharded) {
        wrong(action, position,
              fmt::format("it is unsharded already, at {}", position_text(since)));
      }
      state = Weights::gathering;
      since = position;
    } else if (action.kind == ActionKind::reshard) {
      if (state == Weights::sharded) wrong(action, position, "it is not unsharded here");
      if (state == Weights::gathering) {
        wrong(action, position, "no computation has used it since its UNSHARD");
      }
      state = Weights::sharded;
    } else if (is_compute(action.kind)) {
      if (state == Weights::sharded) {
        wrong(action, position, fmt::format("stage {} is not unsharded here", action.stage));
      } else {
        state = Weights::gathered;
      }
    }
  });
  for (const auto& [stage, end] : weights) {
    if (end.first == Weights::sharded) continue;
    wrong({ActionKind::unshard, stage}, end.second,
          "it is never resharded, and the next step unshards it again");
  }
}

}  // namespace ripeline::pytorch
