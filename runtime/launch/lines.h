// launch/lines: lines on their way to one output of the launcher, in the order in which they came.
//
// What several ranks say on standard error at about the same time comes out once, as
// `[ranks 0..2, 5] no such schedule`: ranks that fail for one reason say it in one form. So such a
// line waits for others of its kind, and what comes after it waits with it. It waits 200 ms after
// the last rank that said it, a second in all, and not at all where much waits already. A rank's
// own lines stay in their order, and what it says twice comes twice. One thread; the clock is the
// caller's.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::runtime {

class Lines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Adds a line of a rank. `waits`: for other ranks that say the same.
  void add(int rank, std::string_view text, bool waits, Time now);
  // Adds a line as it is, from no rank.
  void add(std::string_view text);

  // Takes the lines that wait no longer, with their prefixes and ends; or `all`.
  [[nodiscard]] std::string take(Time now, bool all = false);
  // When the first one will wait no longer; nothing: none waits.
  [[nodiscard]] std::optional<Time> due() const;
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Line {
    std::string text;
    std::vector<int> ranks;  // those that said it; empty: it has no prefix
    bool waits = false;
    Time first = Time::min();
    Time last = Time::min();
  };
  [[nodiscard]] static Time due(const Line& line);

  std::deque<Line> lines_;
  std::size_t bytes_ = 0;  // in all texts
};

}  // namespace ripeline::runtime
