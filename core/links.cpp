#include "core/links.h"

#include <algorithm>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

Status refused(std::string why) { return {StatusCode::invalid, std::move(why)}; }

}  // namespace

Links::Links(const ProgramFacts& facts, int rank) : facts_(facts) {
  const LaneSpan own = facts.lanes_of(rank);
  const int lanes = own.end - own.first;
  first_lane_ = own.first;
  first_need_.assign(index(lanes + 1), 0);
  first_outgoing_.assign(index(lanes + 1), 0);
  const auto is_ours = [own](LaneId lane) { return lane >= own.first && lane < own.end; };
  for (EdgeId id = 0; index(id) < facts.edges.size(); ++id) {
    const EdgeFacts& e = edge(id);
    if (is_ours(e.consumer)) {
      if (end_edge_ == 0) first_edge_ = id;
      end_edge_ = id + 1;
      ++first_need_[index(e.consumer - first_lane_ + 1)];
    } else if (is_ours(e.producer)) {
      ++first_outgoing_[index(e.producer - first_lane_ + 1)];
      const bool announced = is_announced(e);
      outgoing_.push_back(
          {.edge = id, .announced = announced, .at_once = !announced && e.inbox < 0});
    }
  }
  first_need_[0] = first_edge_;
  for (std::size_t i = 1; i < first_need_.size(); ++i) {
    first_need_[i] += first_need_[i - 1];
    first_outgoing_[i] += first_outgoing_[i - 1];
  }
  std::stable_sort(outgoing_.begin(), outgoing_.end(), [this](const auto& a, const auto& b) {
    return edge(a.edge).producer < edge(b.edge).producer;
  });
}

void Links::begin_step(int microbatches) {
  microbatches_ = microbatches;
  for (OutgoingMessages& out : outgoing_) {
    out.ended = 0;
    const EdgeFacts& e = edge(out.edge);
    out.credits = out.at_once || out.announced ? 0 : facts_.inboxes[index(e.inbox)].slots;
  }
  const auto edges = index(end_edge_ - first_edge_);
  const std::size_t messages = edges * index(microbatches);
  state_.assign(messages, 0);
  for (EdgeId id = first_edge_; id < end_edge_; ++id) {
    if (facts_.crosses_ranks(id)) expect(id);
  }
  const bool fifo =
      std::any_of(facts_.edges.begin() + first_edge_, facts_.edges.begin() + end_edge_,
                  [](const EdgeFacts& e) { return e.fifo; });
  ordered_.assign(fifo ? messages : 0, -1);
  incoming_.assign(edges, {});
  taken_.assign(facts_.inboxes.size(), 0);
  begun_.assign(first_need_.size() - 1, 0);
  std::size_t bounded = 0;
  for (const OutgoingMessages& out : outgoing_) {
    if (!out.at_once) ++bounded;
  }
  waiting_.clear();
  waiting_.reserve(bounded * index(microbatches));
  due_.clear();
  due_.reserve(2 * (outgoing_.size() + edges));
  announced_.clear();
  lent_ = 0;
  handing_ = {};
}

void Links::expect(EdgeId id) {
  if (edge(id).is_one_to_one()) {
    const int messages = facts_.tasks_of(edge(id).producer, microbatches_);
    std::fill_n(&state_[position({id, 0})], messages, kExpected);
    return;
  }
  for (int m = 0; m < microbatches_; ++m) {
    if (facts_.is_needed(id, m, microbatches_)) state_[position({id, m})] = kExpected;
  }
}

bool Links::is_announced(const EdgeFacts& e) const {
  return e.rendezvous || (e.inbox >= 0 && !facts_.inboxes[index(e.inbox)].channel.empty());
}

bool Links::is_incoming(EdgeId id) const {
  return id >= first_edge_ && id < end_edge_ && facts_.crosses_ranks(id);
}

Links::OutgoingMessages* Links::outgoing(EdgeId id) {
  const auto found = std::find_if(outgoing_.begin(), outgoing_.end(),
                                  [id](const OutgoingMessages& out) { return out.edge == id; });
  return found != outgoing_.end() ? &*found : nullptr;
}

std::int64_t Links::lent(const OutgoingMessages& out) const {
  if (out.at_once || out.announced) return 0;
  return facts_.inboxes[index(edge(out.edge).inbox)].slots - out.credits;
}

std::string Links::name(Message message) const {
  const Task producer{edge(message.edge).producer, message.microbatch};
  const int consumer = facts_.needed_by(message.edge, message.microbatch, microbatches_);
  return task_name(facts_, producer) + " at " +
         task_name(facts_, {edge(message.edge).consumer, consumer});
}

// ---------------------------------------------------------------- sender

void Links::ended(Task task) {
  const auto lane = index(task.lane - first_lane_);
  for (std::size_t i = first_outgoing_[lane]; i < first_outgoing_[lane + 1]; ++i) {
    OutgoingMessages& out = outgoing_[i];
    if (facts_.needed_by(out.edge, task.microbatch, microbatches_) < 0) continue;
    const Message message{out.edge, task.microbatch};
    const std::int32_t ordinal = out.ended++;
    if (out.at_once) {
      due_.push_back({Command::Kind::send, message, ordinal});
      continue;
    }
    waiting_.push_back({message, ordinal});
    if (out.announced) due_.push_back({Command::Kind::announce, message, ordinal});
    if (edge(out.edge).rendezvous) {
      ++handing_[index(static_cast<int>(facts_.lanes[index(task.lane)].engine))];
    }
  }
}

Status Links::granted(Message message) {
  OutgoingMessages* out = outgoing(message.edge);
  if (out == nullptr) {
    return refused("a message of edge " + std::to_string(message.edge) +
                   " was granted, which does not lead from here to another rank");
  }
  const EdgeFacts& e = edge(message.edge);
  if (message.microbatch < 0 || message.microbatch >= microbatches_ ||
      facts_.needed_by(message.edge, message.microbatch, microbatches_) < 0) {
    return refused("a message of microbatch " + std::to_string(message.microbatch) +
                   " was granted");
  }
  if (!is_announced(e)) {
    if (e.inbox < 0 || out->credits >= facts_.inboxes[index(e.inbox)].slots) {
      return refused(name(message) + " was granted, and no slot was taken");
    }
    ++out->credits;
    --lent_;
    return {};
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const WaitingMessage& w) { return w.message == message; });
  if (found == waiting_.end() || found->granted) {
    return refused(name(message) + " was granted, and does not wait for it");
  }
  found->granted = true;
  if (e.rendezvous) --handing_[index(static_cast<int>(facts_.lanes[index(e.producer)].engine))];
  return {};
}

Status Links::let_go(Message message) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const WaitingMessage& w) { return w.message == message; });
  if (found == waiting_.end() || is_announced(edge(message.edge))) {
    return refused("a message of edge " + std::to_string(message.edge) + ", microbatch " +
                   std::to_string(message.microbatch) +
                   " does not wait for a slot of its own link");
  }
  found->granted = true;
  return {};
}

bool Links::may_leave(const WaitingMessage& waiting) {
  if (is_announced(edge(waiting.message.edge))) return waiting.granted;
  if (held_back_ && !waiting.granted) return false;
  OutgoingMessages& out = *outgoing(waiting.message.edge);
  if (out.credits == 0) return false;
  --out.credits;
  ++lent_;
  return true;
}

// ---------------------------------------------------------------- receiver

Status Links::announced(Message message, std::int32_t ordinal) {
  if (!is_announced(edge(message.edge))) {
    return refused(name(message) + " was announced, and needs no announcement");
  }
  std::uint8_t& state = state_[position(message)];
  if ((state & kAnnounced) != 0) return refused(name(message) + " was announced twice");
  state |= kAnnounced;
  announced_.push_back({message, ordinal});
  return {};
}

Status Links::arrived(Message message, std::int32_t ordinal, std::vector<Message>& handed_over) {
  const EdgeFacts& e = edge(message.edge);
  std::uint8_t& state = state_[position(message)];
  if ((state & kReceived) != 0) return refused(name(message) + " has arrived twice");
  if (e.inbox < 0 && !e.fifo && !e.rendezvous) [[likely]] {
    state |= kReceived | kHandedOver;
    handed_over.push_back(message);
    return {};
  }
  if (is_announced(e)) {
    if ((state & kGranted) == 0)
      return refused(name(message) + " has arrived without being granted");
  } else if (e.inbox >= 0) {
    const std::int64_t slots = facts_.inboxes[index(e.inbox)].slots;
    if (taken_[index(e.inbox)] >= slots) {
      return refused(name(message) + " has arrived without a slot: " + inbox_name(facts_, e.inbox) +
                     ", " + std::to_string(slots) + " of " + std::to_string(slots) + " taken");
    }
  }
  const auto row = index(message.edge - first_edge_) * index(microbatches_);
  if (e.fifo) {
    if (ordinal < 0 || ordinal >= facts_.tasks_of(e.producer, microbatches_) ||
        ordered_[row + index(ordinal)] >= 0) {
      return refused(name(message) + " has arrived as number " + std::to_string(ordinal) +
                     " of its link");
    }
    ordered_[row + index(ordinal)] = message.microbatch;
  }
  if (e.inbox >= 0 && !is_announced(e)) ++taken_[index(e.inbox)];
  state |= kReceived;
  if (!e.fifo) {
    state |= kHandedOver;
    handed_over.push_back(message);
    return {};
  }
  std::int32_t& next = incoming(message.edge).handed_over;
  for (; next < microbatches_ && ordered_[row + index(next)] >= 0; ++next) {
    const Message first{message.edge, ordered_[row + index(next)]};
    state_[position(first)] |= kHandedOver;
    handed_over.push_back(first);
  }
  return {};
}

void Links::free_slots(Task task) {
  const auto lane = index(task.lane - first_lane_);
  const bool first = begun_[lane] == 0;
  begun_[lane] = 1;
  for (EdgeId id = first_need_[lane]; id < first_need_[lane + 1]; ++id) {
    const EdgeFacts& e = edge(id);
    if (e.inbox < 0 || (e.of == Of::all && !first)) continue;
    free_slots(id, facts_.needed(id, task.microbatch, microbatches_));
  }
}

void Links::free_slots(EdgeId id, TaskSpan messages) {
  const EdgeFacts& e = edge(id);
  taken_[index(e.inbox)] -= messages.last - messages.first;
  if (is_announced(e)) return;
  for (int m = messages.first; m < messages.last; ++m) {
    due_.push_back({.kind = Command::Kind::grant, .message = {id, m}});
  }
}

bool Links::may_grant(const WaitingMessage& announced, const Arbiter& arbiter) {
  const Message message = announced.message;
  const EdgeFacts& e = edge(message.edge);
  if (e.fifo && announced.ordinal != incoming(message.edge).granted) return false;
  if (e.inbox >= 0 && taken_[index(e.inbox)] >= facts_.inboxes[index(e.inbox)].slots) return false;
  if (!e.rendezvous) return true;
  const Task wanted{e.consumer, facts_.needed_by(message.edge, message.microbatch, microbatches_)};
  return arbiter.next_in_order(facts_.lanes[index(e.consumer)].engine) == wanted;
}

// ---------------------------------------------------------------- both sides

void Links::find_due(const Arbiter& arbiter) {
  std::erase_if(waiting_, [&](const WaitingMessage& waiting) {
    if (!may_leave(waiting)) return false;
    due_.push_back(
        {.kind = Command::Kind::send, .message = waiting.message, .ordinal = waiting.ordinal});
    return true;
  });
  const auto grant = [&](const WaitingMessage& announced) {
    if (!may_grant(announced, arbiter)) return false;
    const EdgeFacts& e = edge(announced.message.edge);
    if (e.inbox >= 0) ++taken_[index(e.inbox)];
    state_[position(announced.message)] |= kGranted;
    ++incoming(announced.message.edge).granted;
    due_.push_back({.kind = Command::Kind::grant, .message = announced.message});
    return true;
  };
  // Repeats: if announcements of a fifo edge overtook others, a grant may admit an earlier message.
  while (std::erase_if(announced_, grant) > 0) {
  }
}

void Links::waits(bool ended, std::vector<Wait>& waits) const {
  const auto add = [&](Wait::For reason, Message message, std::int64_t held) {
    Wait& wait = waits.emplace_back();
    wait.reason = reason;
    wait.message = message;
    wait.on = facts_.lanes[index(edge(message.edge).consumer)].rank;
    wait.held = held;
    if (reason == Wait::For::end) return;
    const EdgeFacts& e = edge(message.edge);
    wait.task = {e.producer, message.microbatch};
    wait.other = {e.consumer, facts_.needed_by(message.edge, message.microbatch, microbatches_)};
  };
  for (const WaitingMessage& w : waiting_) {
    if (is_announced(edge(w.message.edge))) {  // a granted message leaves at the next poll
      if (!w.granted) add(Wait::For::grant, w.message, -1);
      continue;
    }
    const auto out = std::find_if(outgoing_.begin(), outgoing_.end(),
                                  [&](const auto& o) { return o.edge == w.message.edge; });
    add(Wait::For::slot, w.message, lent(*out));
  }
  if (!ended || !waiting_.empty() || lent_ == 0) return;
  for (const OutgoingMessages& out : outgoing_) {
    if (lent(out) > 0) add(Wait::For::end, {out.edge, -1}, lent(out));
  }
}

}  // namespace ripeline::core
