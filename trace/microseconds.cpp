#include "trace/microseconds.h"

#include <algorithm>
#include <cstdlib>

namespace ripeline::trace {

std::int64_t nanoseconds_of(const std::string& text, double value) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos || text.find_first_of("eE") != std::string::npos) {
    return static_cast<std::int64_t>(value * 1000);
  }
  std::string digits = text.substr(0, point) + text.substr(point + 1, 3);
  digits.append(3 - std::min<std::size_t>(3, text.size() - point - 1), '0');
  return std::strtoll(digits.c_str(), nullptr, 10);
}

}  // namespace ripeline::trace
