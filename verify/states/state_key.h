// StateKey: the bytes by which a search knows a Machine's state again.
//
// A search adds what its states differ in; what follows from that it may leave out. Two keys made
// by the same calls are equal only if all that was added is equal: parts whose size the machine
// fixes have that size, a number's bytes say which is its last, and all else says its length first.
// Values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/machine.h"

namespace ripeline::verify {

class StateKey {
 public:
  // Which tasks have ended: enough where none runs.
  StateKey& add_ended(const spec::Machine::State& state);
  StateKey& add_tasks(const spec::Machine::State& state);
  StateKey& add_messages(const spec::Machine::State& state);
  // The messages that fifo edges have sent and not delivered, in order.
  StateKey& add_queues(const spec::Machine::State& state);
  // Whose turn it is in each rank's hint.
  StateKey& add_rounds(const spec::Machine::State& state);

  StateKey& add(int number);  // >= 0
  StateKey& add(const std::vector<int>& numbers);
  StateKey& add(std::string_view bytes);

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  // So many bits of each value, packed; `values` is as long in every state.
  template <class Value, class BitsOf>
  StateKey& add_packed(const std::vector<Value>& values, int width, const BitsOf& bits_of);

  std::string bytes_;
};

}  // namespace ripeline::verify
