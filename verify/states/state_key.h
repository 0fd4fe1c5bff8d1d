// StateKey: the bytes by which a search recognises a Machine's state.
//
// A search adds every part in which its states differ, except parts that follow from others. Two
// keys made by the same calls are equal only if all added parts are equal: parts whose size the
// machine fixes have that size, the bytes of a number mark its last byte, and every other part
// begins with its length. Values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/machine.h"

namespace ripeline::verify {

class StateKey {
 public:
  // Adds which tasks have ended: sufficient for states in which no task runs.
  StateKey& add_ended(const spec::Machine::State& state);
  StateKey& add_tasks(const spec::Machine::State& state);
  StateKey& add_messages(const spec::Machine::State& state);
  // Adds the messages that fifo edges have sent and not delivered, in order.
  StateKey& add_queues(const spec::Machine::State& state);
  // Adds each rank's turn in its hint.
  StateKey& add_rounds(const spec::Machine::State& state);

  StateKey& add(int number);  // >= 0
  StateKey& add(const std::vector<int>& numbers);
  StateKey& add(std::string_view bytes);

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  // Adds `width` bits of each value, packed; `values` must have the same length in every state.
  template <class Value, class BitsOf>
  StateKey& add_packed(const std::vector<Value>& values, int width, const BitsOf& bits_of);

  std::string bytes_;
};

}  // namespace ripeline::verify
