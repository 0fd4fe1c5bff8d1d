// Compared: runs of several programs side by side.
//
// Immutable, and thus usable in several threads at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/run.h"
#include "load/times.h"
#include "python/program.h"
#include "view/compare.h"

namespace ripeline::python {

// The options of `ripeline compare`, as the command line writes them.
struct Comparing {
  // nullopt: the only number of a program for one number, else for each twice its ranks
  std::optional<std::string> microbatches;
  load::TimeOptions times;
  std::int64_t seeds = 1;
  std::string memory;
};

class Compared {
 public:
  // Runs the programs, whose titles are `titles`. Throws Failure if the options do not fit them.
  Compared(const std::vector<Program>& programs, const std::vector<std::string>& titles,
           const Comparing& comparing);
  // A vector of runs seems copyable to those who ask, but is not.
  Compared(const Compared&) = delete;
  Compared(Compared&&) = default;
  Compared& operator=(const Compared&) = delete;
  Compared& operator=(Compared&&) = default;
  ~Compared() = default;

  // The output of `ripeline compare`, as text and as JSON, and the picture of --picture.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string svg(std::optional<int> width) const;
  [[nodiscard]] std::string html() const;
  // Notes on sizes that differ, and on how a profile fits the programs.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  [[nodiscard]] std::vector<view::Panel> panels() const;

  std::vector<load::Run> runs_;
  load::Notes notes_;
  std::vector<view::Compared> rows_;
  view::CompareOptions options_;
  std::string text_;
};

}  // namespace ripeline::python
