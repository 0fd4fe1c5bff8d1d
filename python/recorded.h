// Recorded: the run in a trace, as a training program or Python wrote it.
//
// Immutable, and thus usable in several threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/run.h"
#include "python/drawing.h"

namespace ripeline::python {

class Recorded {
 public:
  // Reads the trace. `steps` are as for --step: 3, 3..5; nullopt: the last that is complete. Throws
  // Failure if the file cannot be read, or is no trace with these steps.
  Recorded(const std::string& path, const std::optional<std::string>& steps);

  // Notes on parts that are missing, and on the step that was chosen.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] Drawing drawing() const { return Drawing(run_); }
  // The output of `ripeline why`, for one task or, with an empty name, for the whole run.
  [[nodiscard]] std::string explain(const std::string& task) const;

 private:
  std::vector<std::string> notes_;
  std::shared_ptr<const load::Run> run_;
};

}  // namespace ripeline::python
