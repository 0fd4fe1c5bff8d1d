// Panels as SVG, to print.
//
// From top to bottom the title and legend of each panel, its axis, and per rank its engines with
// what each resource holds below. Of very many ranks some are left out, and it says so. Fonts are
// the viewer's: Helvetica, Arial, or its sans-serif. Pure function.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

struct PictureOptions {
  int width = kPictureWidth;  // in pixels
  Range range = {};
};

[[nodiscard]] std::string svg(const std::vector<Panel>& panels, const PictureOptions& options = {});

}  // namespace ripeline::view
