#include "view/picture.h"

#include <cmath>

namespace ripeline::view {

double axis_step(double length, int most) {
  if (!(length > 0) || most < 1) return 0;
  const double least = length / most;
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= least * (1 - 1e-9)) return step * factor;
  }
  return step * 10;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace ripeline::view
