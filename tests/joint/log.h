// Log: the events of a simulated run, for people; empty unless requested.
#pragma once

#include <cstdio>
#include <string>

#include "tests/joint/timeline.h"

namespace ripeline::joint {

class Log {
 public:
  Log(const Timeline& timeline, bool keeps) : timeline_(timeline), keeps_(keeps) {}

  // `text` is a function that is called only if the log is requested.
  template <class Text>
  void note(int process, const Text& text) {
    if (!keeps_) return;
    char when[48];
    (void)std::snprintf(when, sizeof when, "%14.6f  rank %d ",
                        static_cast<double>(timeline_.now().count()) / 1e9, process);
    text_ += when + std::string(text()) + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool keeps() const { return keeps_; }

 private:
  const Timeline& timeline_;
  bool keeps_;
  std::string text_;
};

}  // namespace ripeline::joint
