// A map from numbers to small values in one array, for data about millions of cells. It is a value
// type; concurrent reads are safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ripeline::pytorch {

template <class Value>
class FlatMap {
 public:
  // Makes room for this many keys at once; the map also grows by itself.
  void reserve(std::size_t keys) {
    const std::size_t slots = std::bit_ceil(keys + keys / 2 + 8);
    if (slots > slots_.size()) rehash(slots);
  }

  // The value of the key, and whether the key is new. Keys must be below 2^64 - 1.
  std::pair<Value*, bool> emplace(std::uint64_t key, Value value) {
    if ((size_ + 1) * 5 > slots_.size() * 4) rehash(std::bit_ceil(2 * slots_.size() + 8));
    Slot& slot = slots_[slot_of(key)];
    const bool fresh = slot.key == kNone;
    if (fresh) {
      slot = {key, value};
      ++size_;
    }
    return {&slot.value, fresh};
  }

  [[nodiscard]] const Value* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == kNone ? nullptr : &slot.value;
  }

 private:
  static constexpr std::uint64_t kNone = UINT64_MAX;
  struct Slot {
    std::uint64_t key = kNone;
    [[no_unique_address]] Value value{};
  };

  // The slot of the key, or the free slot in which it belongs.
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
    const std::size_t last = slots_.size() - 1;
    std::size_t i = (key * kSpread) >> shift_;
    while (slots_[i].key != kNone && slots_[i].key != key) i = (i + 1) & last;
    return i;
  }

  void rehash(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots);
    for (const Slot& slot : old) {
      if (slot.key != kNone) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // their number is a power of two
  int shift_ = 64;           // turns a spread key into the number of a slot
  std::size_t size_ = 0;
};

struct Present {};
// A set of numbers.
using FlatSet = FlatMap<Present>;

}  // namespace ripeline::pytorch
