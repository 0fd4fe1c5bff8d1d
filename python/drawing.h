// Drawing: a run as pictures and as lines of text.
#pragma once

#include <optional>
#include <string>

#include "load/run.h"

namespace ripeline::python {

// Immutable, and thus usable in several threads at once.
class Drawing {
 public:
  explicit Drawing(load::Run run) : run_(std::move(run)) {}

  // The lines that `ripeline show` prints without colours.
  [[nodiscard]] std::string text(int width) const;
  // The pictures that `--picture` writes: one for the web, and a page with a script.
  [[nodiscard]] std::string svg(std::optional<int> width) const;
  [[nodiscard]] std::string html() const;

 private:
  load::Run run_;
};

}  // namespace ripeline::python
