// Panels as a page of HTML: zoom, and hover for what a task waited for.
//
// The page needs nothing beside it: its text is view/page.html, built in, with the timelines in it.
// Pure function.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

[[nodiscard]] std::string html(const std::vector<Panel>& panels);

}  // namespace ripeline::view
