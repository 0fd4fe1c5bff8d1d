// Links: decides when a rank's messages leave, and when messages from other ranks are handed over.
//
// An object has one rank's end of every edge that crosses ranks, as sender and receiver, for one
// step. A message is identified by its edge and its producer's microbatch; its ordinal is its
// position among the edge's messages of the step, in the order in which the producer's tasks ended.
//   * If each message has a slot, messages leave at once.
//   * If the edge has an inbox of its own, the sender begins the step with a credit for each slot.
//     A message that leaves uses up a credit; the earliest leaves first (after hold_back(), the one
//     that let_go() names). When the task that needs the message starts, the receiver frees the
//     slot and grants the message, which returns the credit.
//   * With a channel, the sender announces the message. The receiver gives a free slot to the
//     earliest announced message and grants it; the message then leaves.
//   * With a rendezvous, the sender announces the message, and its engine is busy until the
//     receiver grants it. The receiver grants it once the task that needs it is next in order.
// If all tasks of a lane need a message, the first of them to start frees its slot. Messages of a
// fifo edge are handed over by ordinal, in whatever order the transport delivers them. A step is
// settled when every message has left and every credit is back. Then each slot is free, and nothing
// that uses a slot is on its way, so that steps never mix.
//
// Events that do not fit are refused, with a status that names no rank or step, and change nothing.
// Memory is allocated by begin_step() and, if many events arrive between two polls, for due
// commands. Belongs to its executor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "core/command.h"
#include "core/waiting.h"

namespace ripeline::core {

class Links {
 public:
  Links(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches);

  // The calls of the sending side.
  void ended(Task task);
  Status granted(Message message);
  void hold_back(bool value) { held_back_ = value; }
  Status let_go(Message message);
  [[nodiscard]] bool hands_over(Engine engine) const {
    return handing_[static_cast<std::size_t>(engine)] > 0;
  }
  [[nodiscard]] bool settled() const { return waiting_.empty() && lent_ == 0; }

  // The calls of the receiving side.
  [[nodiscard]] bool is_incoming(EdgeId edge) const;
  // Whether the message is of this step, and a task of this rank needs it.
  [[nodiscard]] bool expects(Message message) const {
    return message.edge >= first_edge_ && message.edge < end_edge_ && message.microbatch >= 0 &&
           message.microbatch < microbatches_ && (state_[position(message)] & kExpected) != 0;
  }
  // announced() and arrived() require expects(message).
  Status announced(Message message, std::int32_t ordinal);
  // Appends, in order, the messages that this arrival hands over.
  Status arrived(Message message, std::int32_t ordinal, std::vector<Message>& handed_over);
  // Whether the message was handed over.
  [[nodiscard]] bool has_arrived(Message message) const {
    return (state_[position(message)] & kHandedOver) != 0;
  }
  // Reports that a task of this rank started; frees the slots of the messages that it needs.
  void started(Task task) {
    if (!taken_.empty()) free_slots(task);
  }

  // Appends the commands that are due now: send, announce and grant.
  void poll(const Arbiter& arbiter, std::vector<Command>& commands) {
    if (due_.empty() && waiting_.empty() && announced_.empty()) return;  // most calls
    if (!waiting_.empty() || !announced_.empty()) find_due(arbiter);
    for (const Due& due : due_) {
      Command& command = commands.emplace_back();
      command.kind = due.kind;
      command.message = due.message;
      command.ordinal = due.ordinal;
    }
    due_.clear();
  }

  // Appends a wait for each message of this rank that waits to leave. If there is none and all
  // tasks of the rank have `ended`, appends a wait for each edge with slots that are not free yet.
  void waits(bool ended, std::vector<Wait>& waits) const;
  // awaits_grant(): a message to this rank is announced, not granted. has_slot(): it has a slot.
  [[nodiscard]] bool awaits_grant(Message message) const {
    return (state_[position(message)] & (kAnnounced | kGranted)) == kAnnounced;
  }
  [[nodiscard]] bool has_slot(Message message) const {
    return (state_[position(message)] & (kGranted | kReceived)) != 0;
  }
  // How many slots of an inbox of this rank are taken.
  [[nodiscard]] std::int64_t taken(int inbox) const {
    return taken_[static_cast<std::size_t>(inbox)];
  }

 private:
  // Bits of state_: the state of a message to this rank.
  static constexpr std::uint8_t kExpected = 1;
  static constexpr std::uint8_t kAnnounced = 2;
  static constexpr std::uint8_t kGranted = 4;
  static constexpr std::uint8_t kReceived = 8;
  static constexpr std::uint8_t kHandedOver = 16;

  struct OutgoingMessages {
    EdgeId edge = -1;
    bool announced = false;
    bool at_once = false;      // each message has its own slot
    std::int32_t ended = 0;    // how many messages were ready to leave so far
    std::int64_t credits = 0;  // free slots of the edge's own inbox
  };
  struct WaitingMessage {
    Message message;
    std::int32_t ordinal = 0;
    bool granted = false;  // true once granted, or named by let_go()
  };
  struct Due {  // the fields of a Command that are set
    Command::Kind kind = Command::Kind::send;
    Message message;
    std::int32_t ordinal = 0;
  };
  struct IncomingMessages {
    std::int32_t handed_over = 0;  // on a fifo edge: the next ordinal to hand over
    std::int32_t granted = 0;      // on a fifo edge: the next ordinal to grant
  };

  [[nodiscard]] const EdgeFacts& edge(EdgeId id) const {
    return facts_.edges[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::size_t position(Message message) const {
    return static_cast<std::size_t>(message.edge - first_edge_) *
               static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(message.microbatch);
  }
  [[nodiscard]] IncomingMessages& incoming(EdgeId id) {
    return incoming_[static_cast<std::size_t>(id - first_edge_)];
  }
  [[nodiscard]] bool is_announced(const EdgeFacts& e) const;
  void expect(EdgeId id);
  [[nodiscard]] std::string name(Message message) const;
  [[nodiscard]] OutgoingMessages* outgoing(EdgeId id);
  // The number of slots of the edge's own inbox that are not free.
  [[nodiscard]] std::int64_t lent(const OutgoingMessages& out) const;
  [[nodiscard]] bool may_leave(const WaitingMessage& waiting);
  [[nodiscard]] bool may_grant(const WaitingMessage& announced, const Arbiter& arbiter);
  void free_slots(Task task);
  void free_slots(EdgeId id, TaskSpan messages);
  void find_due(const Arbiter& arbiter);

  // The members that most calls read are declared first.
  const ProgramFacts& facts_;
  int microbatches_ = 0;
  LaneId first_lane_ = 0;  // the rank's lanes, and the edges that they consume, are contiguous
  EdgeId first_edge_ = 0;
  EdgeId end_edge_ = 0;
  std::array<int, kEngines> handing_{};    // per engine: rendezvous messages that are not granted
  std::int64_t lent_ = 0;                  // credits that have not been returned
  std::vector<Due> due_;                   // commands to send, announce and grant
  std::vector<WaitingMessage> waiting_;    // messages that wait to leave, in the order of ends
  std::vector<WaitingMessage> announced_;  // messages not granted, in order
  std::vector<std::int64_t> taken_;        // per inbox: taken slots
  std::vector<std::uint8_t> state_;        // per own edge and microbatch
  std::vector<std::uint32_t> first_outgoing_;  // per own lane, and one past the last
  std::vector<OutgoingMessages> outgoing_;     // by lane

  std::vector<std::int32_t> ordered_;  // per own edge and ordinal: microbatch, if an edge is fifo
  std::vector<IncomingMessages> incoming_;  // per own edge
  std::vector<EdgeId> first_need_;          // per own lane, and one past the last
  std::vector<std::uint8_t> begun_;         // per own lane: one of its tasks has started
  bool held_back_ = false;  // messages with slots of their own link wait for let_go()
};

}  // namespace ripeline::core
