// The user's text, short enough to be repeated in a message.
#pragma once

#include <string>

namespace ripeline::load {

// Cuts each word of over 40 bytes that has no slash, and adds its length; other text is unchanged.
[[nodiscard]] std::string shortened(const std::string& text);

}  // namespace ripeline::load
