// The verdicts of several files: how many of each, and the exit code of all.
#pragma once

#include <array>
#include <string>

#include "cli/failure.h"

namespace ripeline::cli {

class Summary {
 public:
  void add(int exit_code);
  [[nodiscard]] bool empty() const;
  // The worst of those that were added; of none, ok.
  [[nodiscard]] int code() const { return code_; }
  // 3 programs: 2 proved, 1 refuted. `noun`: of one of them.
  [[nodiscard]] std::string text(const std::string& noun) const;

 private:
  int code_ = ok;
  std::array<int, 4> counts_{};  // by exit code
};

}  // namespace ripeline::cli
