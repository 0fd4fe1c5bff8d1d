// The data of a panel, as view/page/model.js reads them: one JSON object
// (view/page/panel_data.cpp).
//
// Everything that the page shows of a panel but the words of its header (view/run_facts.h): its
// tasks and why they waited, idle time by cause, the starts of the steps, what is held, and all
// colours. A contract within this folder only: the page carries its own reader. Pure function.
#pragma once

#include <string>

#include "view/picture.h"

namespace ripeline::view {

[[nodiscard]] std::string panel_data(const Panel& panel);

}  // namespace ripeline::view
