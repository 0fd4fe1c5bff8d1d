// The seconds of a command that searches: what is left of them, less what its end will take.
#pragma once

#include <chrono>

namespace ripeline::cli {

class Budget {
 public:
  // Begins now.
  explicit Budget(double seconds) : seconds_(seconds) {}

  // So much is left for the end.
  void keep(double seconds) { kept_ = seconds; }
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

}  // namespace ripeline::cli
