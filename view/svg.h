// Panels as SVG, to print.
//
// Each panel has, from top to bottom, its title, legend and axis, and per rank its engines with the
// amounts held of each resource below. If there are very many ranks, the picture omits some, and
// says so. The fonts are the viewer's Helvetica, Arial or sans-serif. Pure function.
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
