#include "python/drawing.h"

#include "view/html.h"
#include "view/picture.h"
#include "view/svg.h"
#include "view/terminal.h"

namespace ripeline::python {

std::string Drawing::text(int width) const {
  return view::terminal(run_.timeline, {.width = width}, run_.stuck);
}

std::string Drawing::svg(std::optional<int> width) const {
  return view::svg({run_.panel()}, {.width = width.value_or(view::kPictureWidth)});
}

std::string Drawing::html() const { return view::html({run_.panel()}); }

}  // namespace ripeline::python
