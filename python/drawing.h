// Drawing: a run as pictures and as lines of text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "load/run.h"

namespace ripeline::python {

// The part that is drawn, as --begin and --end write it; empty for the run's start and end.
struct Shown {
  std::string begin;
  std::string end;
};

// Immutable, and thus usable in several threads at once.
class Drawing {
 public:
  explicit Drawing(load::Run run) : run_(std::make_shared<const load::Run>(std::move(run))) {}
  explicit Drawing(std::shared_ptr<const load::Run> run) : run_(std::move(run)) {}

  // Failure is thrown if the run has no such part, and for a width out of bounds.
  // The lines that `ripeline show` prints without colours.
  [[nodiscard]] std::string text(int width, const Shown& shown) const;
  // The pictures that `--picture` writes: one for the web, and a page with a script.
  [[nodiscard]] std::string svg(std::optional<int> width, const Shown& shown) const;
  [[nodiscard]] std::string html(const Shown& shown) const;

 private:
  std::shared_ptr<const load::Run> run_;
};

// The width of a picture in pixels, or the usual one. Throws Failure for one out of bounds.
[[nodiscard]] int picture_width(std::optional<int> width);

}  // namespace ripeline::python
