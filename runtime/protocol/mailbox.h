// Mailbox: the payloads of one rank that wait for a task or to be sent, and the calls that the
// rank's tasks get.
//
// Payloads are stored by step, edge and microbatch, so that those of the next step may arrive
// early. An edge between tasks of one stage carries no payload. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/facts.h"
#include "runtime/work.h"

namespace ripeline::runtime::protocol {

class Mailbox {
 public:
  explicit Mailbox(const core::ProgramFacts& facts);  // borrowed

  void begin_step(std::int64_t step, int microbatches);

  void put(std::int64_t step, core::Message message, Payload payload);
  // Removes and returns the payload of a message of the present step; empty if it carries none.
  [[nodiscard]] Payload take(core::Message message);

  // Returns the call of a task of the present step; called once for each task that starts. A
  // payload is moved to the last task that needs it.
  [[nodiscard]] Call call_of(core::Task task, core::Time now);
  // Stores the outputs of a call that has ended, and keeps the call's memory for another call.
  void put_outputs(Call call);

 private:
  using Key = std::tuple<std::int64_t, core::EdgeId, std::int32_t>;

  void take_inputs(core::Task task, std::vector<Input>& inputs);
  void add_outputs(core::Task task, std::vector<Output>& outputs) const;

  const core::ProgramFacts& facts_;
  std::vector<std::vector<core::EdgeId>> inputs_of_;   // per lane: edges with a payload for it
  std::vector<std::vector<core::EdgeId>> outputs_of_;  // per lane: edges that carry its output
  std::int64_t step_ = -1;
  int microbatches_ = 0;
  std::vector<int> tasks_left_;  // tasks to start, per lane
  std::map<Key, Payload> payloads_;
  std::vector<Call> spare_;
};

}  // namespace ripeline::runtime::protocol
