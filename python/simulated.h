// Simulated: one run of a program on the virtual clock, and its report.
//
// Immutable, and thus usable in several threads at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/owned_facts.h"
#include "load/program.h"
#include "load/times.h"
#include "python/drawing.h"
#include "simulate/report.h"

namespace ripeline::python {

class Simulated {
 public:
  // Runs the program, which is for `microbatches`. Throws Failure if the times do not fit it.
  Simulated(std::shared_ptr<const load::LoadedProgram> loaded, int microbatches,
            const load::TimeOptions& times);
  Simulated(std::shared_ptr<const load::LoadedProgram> loaded, int microbatches,
            simulate::Timing timing);

  // The output of `ripeline simulate`: as text, as JSON, and that of --csv.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string csv() const;
  // Notes on how a profile fits the program, and on members and replicas.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] Drawing drawing() const;
  // The output of `ripeline why`, for one task or, with an empty name, for the whole run.
  [[nodiscard]] std::string explain(const std::string& task) const;
  // Writes the file of --trace. Throws Failure if it cannot be written.
  void write_trace(const std::string& path) const;

 private:
  [[nodiscard]] simulate::ReportedRun reported() const;

  std::shared_ptr<const load::LoadedProgram> loaded_;
  int microbatches_;
  simulate::Timing timing_;
  core::OwnedFacts facts_;
  trace::Record record_;
  simulate::RunReport run_;
};

}  // namespace ripeline::python
