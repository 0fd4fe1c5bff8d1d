// Checked: the verdict on a schedule of PyTorch.
//
// Immutable, and thus usable in several threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pytorch/check.h"

namespace ripeline::python {

// The options of `ripeline check`, as the command line writes them.
struct CheckOptions {
  std::optional<std::string> placement;
  std::optional<std::string> form;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> stages;
  std::optional<std::string> microbatches;
  std::optional<std::string> memory;
  std::optional<std::int64_t> stage_memory;
  std::optional<std::string> layout;
  std::optional<std::string> kernels;
  bool reduce = true;  // false for --no-reduce
  bool layouts = false;
};

// A schedule that passes, made from one that does not.
struct Fixed {
  std::string csv;
  std::string changes;  // a line for each change, and one with the peaks
};

class Checked {
 public:
  // Reads the file, also one that is called `-`. Throws Failure if it is no schedule, or if the
  // options fit no table.
  Checked(const std::string& path, const CheckOptions& options);

  [[nodiscard]] std::string outcome() const { return name_of(report_.verdict); }
  // The output of `ripeline check`, as text and as JSON.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  // The repair that --fix writes. Throws Failure if the schedule passes, or if none is found.
  [[nodiscard]] Fixed fixed() const;

 private:
  spec::Source source_;
  pytorch::CheckOptions options_;
  pytorch::ReadActions read_;
  pytorch::CheckReport report_;
};

}  // namespace ripeline::python
