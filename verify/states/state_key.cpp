#include "verify/states/state_key.h"

namespace ripeline::verify {

using spec::Machine;

namespace {

constexpr int kBitsOfState = 2;  // waiting, running, ended; none, sent, arrived

}  // namespace

template <class Value, class BitsOf>
StateKey& StateKey::add_packed(const std::vector<Value>& values, int width, const BitsOf& bits_of) {
  constexpr int kBitsOfByte = 8;
  const std::size_t per_byte = static_cast<std::size_t>(kBitsOfByte / width);
  bytes_.reserve(bytes_.size() + values.size() / per_byte + 1);
  unsigned bits = 0;
  std::size_t used = 0;
  for (const Value value : values) {
    bits = bits << width | bits_of(value);
    if (++used < per_byte) continue;
    bytes_.push_back(static_cast<char>(bits));
    bits = 0;
    used = 0;
  }
  if (used > 0) bytes_.push_back(static_cast<char>(bits));
  return *this;
}

StateKey& StateKey::add_ended(const Machine::State& state) {
  return add_packed(state.tasks, 1, [](Machine::TaskState task) {
    return task == Machine::TaskState::ended ? 1U : 0U;
  });
}

StateKey& StateKey::add_tasks(const Machine::State& state) {
  return add_packed(state.tasks, kBitsOfState,
                    [](Machine::TaskState task) { return static_cast<unsigned>(task); });
}

StateKey& StateKey::add_messages(const Machine::State& state) {
  return add_packed(state.messages, kBitsOfState,
                    [](Machine::MessageState message) { return static_cast<unsigned>(message); });
}

StateKey& StateKey::add_queues(const Machine::State& state) {
  for (const std::vector<int>& queue : state.queues) add(queue);
  return *this;
}

StateKey& StateKey::add_rounds(const Machine::State& state) {
  for (const int round : state.rounds) add(round);
  return *this;
}

// Writes seven bits to a byte, the lowest first; the highest bit is set if more bytes follow.
StateKey& StateKey::add(int number) {
  constexpr unsigned kMore = 128;
  auto left = static_cast<unsigned>(number);
  for (; left >= kMore; left /= kMore) bytes_.push_back(static_cast<char>(left % kMore + kMore));
  bytes_.push_back(static_cast<char>(left));
  return *this;
}

StateKey& StateKey::add(const std::vector<int>& numbers) {
  add(static_cast<int>(numbers.size()));
  for (const int number : numbers) add(number);
  return *this;
}

StateKey& StateKey::add(std::string_view bytes) {
  add(static_cast<int>(bytes.size()));
  bytes_ += bytes;
  return *this;
}

}  // namespace ripeline::verify
