// CarrierMeeting: the exchange of messages between processes that have no carriers yet.
//
// Each part of a start (CarrierChoice, connect_by_nccl) sends its messages, and calls next() until
// all messages that it waits for have arrived. Deliveries from neighbours that are already past the
// start are kept for later. A neighbour that is lost, or does not start, makes next() fail. If one
// process does not start, none does: refuse() tells its neighbours why, and they tell theirs.
//
// Waits up to the limit, for all parts together. One thread.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/protocol/carrier_messages.h"
#include "runtime/transport.h"

namespace ripeline::runtime {
class Termination;
}

namespace ripeline::runtime::cuda {

class CarrierMeeting {
 public:
  struct Message {
    int from = -1;
    protocol::CarrierMessage content;
  };

  // All arguments are borrowed; deliveries for later are appended to `early`. With a `termination`,
  // next() fails when the process is told to end.
  CarrierMeeting(Transport& control, std::chrono::nanoseconds limit, std::vector<Delivery>& early,
                 const Termination* termination = nullptr);

  [[nodiscard]] int self() const { return control_.self(); }
  [[nodiscard]] const std::vector<int>& neighbours() const { return control_.neighbours(); }
  core::Status send(int to, const protocol::CarrierMessage& message);
  core::Status send_to_all(const protocol::CarrierMessage& message);

  // Appends the messages that arrive within `most`, if any. Fails as `timeout`, without a text,
  // when the limit is over.
  core::Status next(std::chrono::nanoseconds most, std::vector<Message>& messages);
  // Keeps a message for the next part of the start, which handles kept messages first.
  void keep(Message message) { kept_.push_back(std::move(message)); }
  [[nodiscard]] std::vector<Message> take_kept() { return std::exchange(kept_, {}); }

  // Tells the neighbours that this process does not start, and waits briefly until that is sent.
  void refuse(const core::Status& why);

 private:
  core::Status receive(Delivery delivery, std::vector<Message>& messages);

  Transport& control_;
  std::vector<Delivery>& early_;
  const Termination* termination_;
  const core::Time until_;
  std::vector<Message> kept_;
};

// The name of a process in texts: "rank 3".
[[nodiscard]] std::string rank_text(int process);

}  // namespace ripeline::runtime::cuda
