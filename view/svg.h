// Panels as SVG, to print.
//
// Each panel has, from top to bottom, its title, legend and axis, and for each rank its engines
// and, below them, the amounts held of each resource. If there are very many ranks, the picture
// omits some and says so. The fonts are the viewer's Helvetica, Arial or sans-serif. Pure.
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
