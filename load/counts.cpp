#include "load/counts.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "load/shorten.h"
#include "simulate/amount.h"

namespace ripeline::load {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

spec::Result<int> count_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = error == std::errc{} && value >= 1 && value <= kMostMicrobatches;
  const bool whole = !text.empty() && end == text.data() + text.size();
  if (whole && fits) return static_cast<int>(value);
  const bool number = whole && error != std::errc::invalid_argument;
  return spec::failure(
      number ? fmt::format("{} microbatches: expected 1 to {}", shortened(std::string(text)),
                           kMostMicrobatches)
             : fmt::format("'{}': expected a number of microbatches, as 64, or a range of "
                           "them, as 1..128",
                           shortened(std::string(text))));
}

std::string range_of(const spec::Program& program) {
  const auto& range = program.microbatches;
  if (!range.max) return fmt::format("{} and more", range.min);
  if (*range.max == range.min) return fmt::format("{} alone", range.min);
  return fmt::format("{} to {}", range.min, *range.max);
}

}  // namespace

std::string Counts::text() const {
  return one() ? std::to_string(first) : fmt::format("{}..{}", first, last);
}

spec::Result<Counts> counts_in(const std::string& text) {
  const std::string_view all = text;
  const std::size_t dots = all.find("..");
  const auto first = count_in(trimmed(all.substr(0, dots)));
  if (!first.ok()) return first.errors();
  if (dots == all.npos) return Counts{first.value(), first.value()};
  const auto last = count_in(trimmed(all.substr(dots + 2)));
  if (!last.ok()) return last.errors();
  if (last.value() < first.value()) {
    return spec::failure(
        fmt::format("{}..{}: the first number is the smaller one", first.value(), last.value()));
  }
  return Counts{first.value(), last.value()};
}

spec::Result<spec::Rational> room_in(const std::string& text) {
  const auto room = simulate::amount_in(text);
  if (room && room->dimension == simulate::Dimension::none && room->value.numerator != 0) {
    return room->value;
  }
  return spec::failure(
      "expected microbatches that a rank has room for, a number above 0, as 6 or 2.5: a schedule "
      "of PyTorch has no bytes");
}

spec::Result<std::optional<int>> one_count(const std::optional<Counts>& counts) {
  if (!counts) return std::optional<int>();
  if (counts->one()) return std::optional(counts->first);
  return spec::failure(fmt::format(
      "-m {}: one step is run, so give one number of microbatches, as -m {}; `ripeline verify` "
      "judges a range",
      counts->text(), counts->last));
}

spec::Result<int> count_of_step(const std::optional<Counts>& counts, const spec::Program& program) {
  const auto given = one_count(counts);
  if (!given.ok()) return given.errors();
  const auto& range = program.microbatches;
  const auto count = given.value()            ? given.value()
                     : range.max == range.min ? std::optional(range.min)
                                              : std::nullopt;
  if (!count) {
    return spec::failure(fmt::format(
        "{}: -m is needed, the number of microbatches of the step, as -m 8", program.name));
  }
  if (range.contains(*count)) return *count;
  return spec::failure(
      fmt::format("{}: {} microbatches are outside the program's range: it is for {}", program.name,
                  *count, range_of(program)));
}

spec::Program for_one_count(const spec::Program& program, int microbatches) {
  spec::Program narrowed = program;
  narrowed.microbatches = {microbatches, microbatches};
  return narrowed;
}

}  // namespace ripeline::load
