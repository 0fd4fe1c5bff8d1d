// Random orders on the wire for tests: messages and collectives, on any streams, in batches, that
// may wait for each other; some deadlock.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "wire/wire.h"

namespace ripeline::wire {

class RandomWire {
 public:
  explicit RandomWire(std::uint64_t seed) : random_(seed) {}

  WireProgram program();
  WireOptions options();

  std::mt19937_64& engine() { return random_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  // Inserts the action, not always at the end, so that ranks may do actions in different orders.
  void put(std::vector<WireAction>& rank, WireAction a);
  void add_step(WireProgram& p);
  void decorate(std::vector<WireAction>& rank);

  std::mt19937_64 random_;
};

}  // namespace ripeline::wire
