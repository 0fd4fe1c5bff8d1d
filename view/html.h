// Panels as a page of HTML: zoom, find a task, and hover for what it waited for.
//
// The page needs nothing beside it: its text, style and script are view/page/, built in, with the
// timelines in it. It begins with what is known of the runs (view/run_facts.h), which is there
// without JavaScript too. From kCompactRanks ranks on it opens in its compact mode: thin rows,
// without what is held. Of a range it opens on that; the rest is a key or a drag away. Pure
// function.
#pragma once

#include <string>
#include <vector>

#include "view/picture.h"

namespace ripeline::view {

inline constexpr int kCompactRanks = 64;

[[nodiscard]] std::string html(const std::vector<Panel>& panels, const Range& range = {});

}  // namespace ripeline::view
