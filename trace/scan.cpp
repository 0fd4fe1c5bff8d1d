#include "trace/scan.h"

#include <charconv>
#include <cmath>

namespace ripeline::trace {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void Scan::fail() { failed_ = true; }

void Scan::space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool Scan::take(char c) {
  space();
  if (failed_ || at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool Scan::enter(char open) {
  first_ = take(open);
  if (!first_) fail();
  return first_;
}

bool Scan::element() {
  if (failed_) return false;
  if (take(']')) {
    first_ = false;
    return false;
  }
  if (!first_ && !take(',')) {
    fail();
    return false;
  }
  first_ = false;
  return true;
}

bool Scan::key(std::string_view& name) {
  if (failed_) return false;
  if (take('}')) {
    first_ = false;
    return false;
  }
  if (!first_ && !take(',')) {
    fail();
    return false;
  }
  first_ = false;
  name = string();
  if (!take(':')) fail();
  return !failed_;
}

bool Scan::at_string() {
  space();
  return !failed_ && at_ < text_.size() && text_[at_] == '"';
}

std::string_view Scan::string() {
  if (!take('"')) {
    fail();
    return {};
  }
  const std::size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') {
      ++at_;
    } else if (text_[at_] == '"') {
      return text_.substr(begin, at_++ - begin);
    }
  }
  at_ = text_.size();
  fail();
  return {};
}

std::string_view Scan::number() {
  space();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_number(text_[at_])) ++at_;
  if (at_ == begin) fail();
  return failed_ ? std::string_view{} : text_.substr(begin, at_ - begin);
}

std::int64_t Scan::integer() {
  const std::string_view text = number();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) fail();
  return value;
}

std::int64_t Scan::nanoseconds() {
  const std::string_view text = number();
  const char* end = text.data() + text.size();
  const bool negative = text.starts_with('-');
  std::int64_t value = 0;
  auto [at, error] = std::from_chars(text.data() + (negative ? 1 : 0), end, value);
  constexpr std::int64_t kMost = 9'000'000'000'000'000;  // so that nanoseconds fit
  if (error != std::errc{} || value < 0 || value > kMost) {
    fail();
    return 0;
  }
  value *= 1000;
  std::int64_t digit = 100;
  if (at != end && *at == '.') {
    for (++at; at != end && is_digit(*at); ++at, digit /= 10) value += digit * (*at - '0');
  }
  if (at != end) {  // an exponent: as another program may write it
    double number = 0;
    const auto [stop, bad] = std::from_chars(text.data(), end, number);
    if (bad != std::errc{} || stop != end || !(std::abs(number) < 9e15)) {
      fail();
      return 0;
    }
    return static_cast<std::int64_t>(std::llround(number * 1000));
  }
  return negative ? -value : value;
}

std::string_view Scan::skip() {
  space();
  const std::size_t begin = at_;
  int depth = 0;
  do {
    space();
    if (failed_ || at_ >= text_.size()) {
      fail();
      return {};
    }
    const char c = text_[at_];
    if (c == '"') {
      string();
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at_;
    } else if (c == '}' || c == ']') {
      --depth;
      ++at_;
    } else if (c == ',' || c == ':') {
      if (depth == 0) fail();
      ++at_;
    } else {  // a number or a word
      const std::size_t word = at_;
      while (at_ < text_.size() &&
             (is_number(text_[at_]) || (text_[at_] >= 'a' && text_[at_] <= 'z'))) {
        ++at_;
      }
      if (at_ == word) fail();
    }
  } while (depth > 0 && !failed_);
  if (depth < 0) fail();
  return failed_ ? std::string_view{} : text_.substr(begin, at_ - begin);
}

}  // namespace ripeline::trace
