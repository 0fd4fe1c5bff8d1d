#include "python/drawing.h"

#include "load/numbers.h"
#include "load/part.h"
#include "python/failure.h"
#include "python/number.h"
#include "view/html.h"
#include "view/picture.h"
#include "view/svg.h"
#include "view/terminal.h"

namespace ripeline::python {
namespace {

view::Range range_of(const load::Run& run, const Shown& shown) {
  load::Part part;
  if (!shown.begin.empty()) {
    part.begin = value_of(load::number_from_zero(shown.begin), "--begin");
  }
  if (!shown.end.empty()) part.end = value_of(load::number_above_zero(shown.end), "--end");
  return value_of(load::range_of(part, {run.panel()}));
}

}  // namespace

std::string Drawing::text(int width, const Shown& shown) const {
  check_integer("--width", std::optional(width), view::kLeastColumns, view::kMostColumns);
  return view::terminal(run_->timeline, {.width = width, .range = range_of(*run_, shown)},
                        run_->stuck);
}

std::string Drawing::svg(std::optional<int> width, const Shown& shown) const {
  return view::svg({run_->panel()},
                   {.width = picture_width(width), .range = range_of(*run_, shown)});
}

std::string Drawing::html(const Shown& shown) const {
  return view::html({run_->panel()}, range_of(*run_, shown));
}

int picture_width(std::optional<int> width) {
  check_integer("--picture-width", width, view::kLeastPictureWidth, view::kMostPictureWidth);
  return width.value_or(view::kPictureWidth);
}

}  // namespace ripeline::python
