#include "runtime/launch/lines.h"

#include <algorithm>
#include <utility>

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kAfterLast = 200ms;
constexpr auto kLongest = 1s;
constexpr std::size_t kMostBytes = 16384;
constexpr std::size_t kMostLines = 256;

// `[rank 2] `, `[ranks 0..2, 5] `.
std::string prefix_of(std::vector<int> ranks) {
  if (ranks.empty()) return {};
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "[rank " : "[ranks ";
  for (std::size_t first = 0, end = 0; first < ranks.size(); first = end) {
    while (end < ranks.size() && ranks[end] - ranks[first] == static_cast<int>(end - first)) ++end;
    if (first > 0) text += ", ";
    text += std::to_string(ranks[first]);
    if (end - first > 1) text += ".." + std::to_string(ranks[end - 1]);
  }
  return text + "] ";
}

}  // namespace

void Lines::add(int rank, std::string_view text, bool waits, Time now) {
  // Back to the rank's own last line, since what it says comes after that, but not far.
  const auto farthest =
      lines_.rbegin() + static_cast<std::ptrdiff_t>(std::min(lines_.size(), kMostLines));
  for (auto line = lines_.rbegin(); waits && line != farthest; ++line) {
    if (std::find(line->ranks.begin(), line->ranks.end(), rank) != line->ranks.end()) break;
    if (!line->waits || line->text != text) continue;
    line->ranks.push_back(rank);
    line->last = now;
    return;
  }
  lines_.push_back(
      {.text = std::string(text), .ranks = {rank}, .waits = waits, .first = now, .last = now});
  bytes_ += text.size();
}

void Lines::add(std::string_view text) {
  lines_.push_back({.text = std::string(text), .ranks = {}});
  bytes_ += text.size();
}

std::string Lines::take(Time now, bool all) {
  std::string text;
  all = all || bytes_ > kMostBytes || lines_.size() > kMostLines;
  while (!lines_.empty() && (all || due(lines_.front()) <= now)) {
    text += prefix_of(std::move(lines_.front().ranks)) + lines_.front().text + '\n';
    bytes_ -= lines_.front().text.size();
    lines_.pop_front();
  }
  return text;
}

std::optional<Lines::Time> Lines::due() const {
  if (lines_.empty()) return std::nullopt;
  return due(lines_.front());
}

Lines::Time Lines::due(const Line& line) {
  return line.waits ? std::min(line.last + kAfterLast, line.first + kLongest) : Time::min();
}

}  // namespace ripeline::runtime
