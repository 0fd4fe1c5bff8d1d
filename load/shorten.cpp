#include "load/shorten.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace ripeline::load {
namespace {

constexpr std::size_t kMostBytes = 40;
constexpr std::size_t kShown = 12;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// A path stays complete; only a word that has no parts, such as a long number, is cut.
bool may_be_cut(std::string_view word) {
  return word.size() > kMostBytes && word.find('/') == word.npos;
}

std::string cut(std::string_view word) {
  std::size_t end = kShown;
  while (end > 0 && is_continuation(word[end])) --end;
  return fmt::format("{}… ({} characters)", word.substr(0, end), word.size());
}

}  // namespace

std::string shortened(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    result += may_be_cut(word) ? cut(word) : std::string(word);
    if (end < text.size()) result += text[end];
    begin = end + 1;
  }
  return result;
}

}  // namespace ripeline::load
