// Budget: the seconds of a search. left() leaves out those that are reserved for its end.
#pragma once

#include <chrono>

namespace ripeline::optimise {

class Budget {
 public:
  // The time starts at construction.
  explicit Budget(double seconds) : seconds_(seconds) {}

  // Reserves `seconds` for the end of the search.
  void keep(double seconds) { kept_ = seconds; }
  [[nodiscard]] double all() const { return seconds_; }
  [[nodiscard]] double gone() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }
  [[nodiscard]] double left() const { return seconds_ - kept_ - gone(); }
  [[nodiscard]] bool is_over() const { return left() <= 0; }

 private:
  double seconds_;
  double kept_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace ripeline::optimise
