// The data of a panel, as view/page/model.js reads them: one JSON object
// (view/page/panel_data.cpp).
//
// The data are all that the page shows of a panel except the text of its header (view/run_facts.h):
// tasks and why they waited, idle time by cause, the starts of the steps, amounts held, and all
// colours. The format is private to this folder, since the page has its own reader. Pure function.
#pragma once

#include <string>

#include "view/picture.h"

namespace ripeline::view {

[[nodiscard]] std::string panel_data(const Panel& panel);

}  // namespace ripeline::view
