// Share: which microbatches a lane has.
//
// `on m where m % 2 == 0` gives a lane every second microbatch. A share repeats with a period, so
// that it is known for every count of microbatches. A program for a single count may use that count
// as the period: then any set of microbatches is a share, and its bits are kept in ShareWords. A
// plain value; the words of a long period belong to the Program, OwnedFacts or generated file that
// has the share and must outlive every copy.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace ripeline::core {

// 64 microbatches of a long period.
struct ShareWord {
  std::uint64_t bits = 0;  // bit i: the share has the i-th of the 64
  int before = 0;          // how many microbatches the share has before these 64
  constexpr bool operator==(const ShareWord&) const = default;
};

struct Share {
  static constexpr int kLongestPeriod = 64;      // the longest period without words
  static constexpr int kMostPeriod = 1'000'000;  // the longest period with words

  int period = 1;                    // 1 .. kMostPeriod, the shortest with which the share repeats
  std::uint64_t remainders = 1;      // bit i: the lane has each m for which m % period == i
  const ShareWord* words = nullptr;  // word_count() words if the period is above kLongestPeriod

  // A share with a long period; `words` are from long_words(), and must outlive the share.
  [[nodiscard]] static constexpr Share of_words(int period, const ShareWord* words) {
    return {period, 0, words};
  }

  [[nodiscard]] constexpr bool is_all() const { return period == 1 && remainders == 1; }
  [[nodiscard]] constexpr bool is_long() const { return words != nullptr; }
  [[nodiscard]] constexpr int word_count() const { return (period + 63) / 64; }
  [[nodiscard]] constexpr bool has(int m) const {
    const int at = m % period;
    return ((is_long() ? words[at / 64].bits : remainders) >> (at % 64) & 1U) != 0;
  }
  // How many microbatches the lane has in each period.
  [[nodiscard]] constexpr int size() const {
    return is_long() ? started_in_words(period) : std::popcount(remainders);
  }
  // How many of the microbatches 0 .. m-1 the lane has.
  [[nodiscard]] constexpr int below(int m) const {
    if (is_all()) return m;
    const int at = m % period;
    if (is_long()) return m / period * size() + started_in_words(at);
    return m / period * size() + std::popcount(remainders & low_bits(at));
  }
  // The lane's k-th microbatch, counted from 0.
  [[nodiscard]] constexpr int microbatch(int k) const {
    if (is_all()) return k;
    if (is_long()) return microbatch_in_words(k);
    return k / size() * period + nth_bit(remainders, k % size());
  }
  constexpr bool operator==(const Share& other) const {
    if (period != other.period || remainders != other.remainders) return false;
    if (words == other.words) return true;
    if (!is_long() || !other.is_long()) return false;
    for (int i = 0; i < word_count(); ++i) {
      if (words[i].bits != other.words[i].bits) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t low_bits(int count) {  // below 64
    return (std::uint64_t{1} << count) - 1;
  }
  [[nodiscard]] static constexpr int nth_bit(std::uint64_t bits, int n) {
    for (; n > 0; --n) bits &= bits - 1;
    return std::countr_zero(bits);
  }
  // How many of the first `at` microbatches of a period the lane has; `at` is at most the period.
  [[nodiscard]] constexpr int started_in_words(int at) const {
    const int word = (at - 1) / 64;
    if (at == 0) return 0;
    const std::uint64_t bits = words[word].bits;
    const int rest = at - 64 * word;  // 1 .. 64
    return words[word].before + std::popcount(rest == 64 ? bits : bits & low_bits(rest));
  }
  [[nodiscard]] constexpr int microbatch_in_words(int k) const {
    const int nth = k % size();
    int first = 0;  // the last word with `before` at most `nth` is among first .. last - 1
    int last = word_count();
    while (last - first > 1) {
      const int middle = first + (last - first) / 2;
      (words[middle].before <= nth ? first : last) = middle;
    }
    const std::int64_t found = std::int64_t{k / size()} * period + std::int64_t{64} * first +
                               nth_bit(words[first].bits, nth - words[first].before);
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(found < kMost ? found : kMost);
  }
};

// The words of the share that has this long period and each microbatch m with has(m).
template <class Has>
[[nodiscard]] std::vector<ShareWord> long_words(int period, const Has& has) {
  std::vector<ShareWord> words(static_cast<std::size_t>((period + 63) / 64));
  int before = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].before = before;
    const int first = static_cast<int>(64 * i);
    for (int m = first; m < period && m < first + 64; ++m) {
      if (has(m)) words[i].bits |= std::uint64_t{1} << (m - first);
    }
    before += std::popcount(words[i].bits);
  }
  return words;
}

}  // namespace ripeline::core
