// Panels as an HTML page, on which one can zoom, find a task, and see what it waited for.
//
// The page needs no other file: its text, style and script, which are in view/page/, and the
// timelines are part of it. It begins with the facts of the runs (view/run_facts.h), which are
// visible without JavaScript, too. With kCompactRanks ranks or more it opens in its compact mode,
// with thin rows and without the amounts held. With a range it shows that part at first; a key or a
// drag shows the rest. Pure function.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

inline constexpr int kCompactRanks = 64;

[[nodiscard]] std::string html(const std::vector<Panel>& panels, const Range& range = {});

}  // namespace ripeline::view
