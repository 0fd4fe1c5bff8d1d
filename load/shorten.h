// The user's text, short enough to be repeated in a message.
#pragma once

#include <string>

namespace ripeline::load {

// A word without a blank that is longer than 40 bytes is cut, with how long it was; the rest stays.
[[nodiscard]] std::string shortened(const std::string& text);

}  // namespace ripeline::load
