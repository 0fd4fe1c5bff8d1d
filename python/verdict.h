// Verdict: what verify() found of a program, as texts and documents of the command line.
//
// Immutable, and thus usable in several threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/program.h"
#include "python/drawing.h"
#include "verify/verify.h"

namespace ripeline::python {

class Verdict {
 public:
  Verdict(std::shared_ptr<const load::LoadedProgram> loaded, verify::Verdict verdict)
      : loaded_(std::move(loaded)), verdict_(std::move(verdict)) {}

  [[nodiscard]] std::string outcome() const { return name_of(verdict_.outcome); }
  // The proved program; nullopt unless the outcome is proved.
  [[nodiscard]] const std::optional<verify::ProvedProgram>& proved() const {
    return verdict_.proved;
  }
  // The output of `ripeline verify`, as text and as JSON.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  // The texts of the repaired programs, in the order of all `repairs` in the JSON.
  [[nodiscard]] std::vector<std::string> repaired_texts() const;
  // The run that refutes the program, drawn. nullopt if there is none, or if it is a run of the
  // members of a tensor-parallel group, which is not drawn.
  [[nodiscard]] std::optional<Drawing> drawn_run() const;

 private:
  std::shared_ptr<const load::LoadedProgram> loaded_;
  verify::Verdict verdict_;
};

}  // namespace ripeline::python
