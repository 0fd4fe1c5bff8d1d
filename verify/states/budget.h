// Budget: states that searches may still visit.
//
// A state of many tasks counts for several, so that a budget is a measure of work. One thread.
#pragma once

#include <cstdint>

namespace ripeline::verify {

struct Budget {
  std::uint64_t left = 0;
  [[nodiscard]] bool spend(std::uint64_t amount) {
    if (left < amount) {
      left = 0;
      return false;
    }
    left -= amount;
    return true;
  }
};

}  // namespace ripeline::verify
