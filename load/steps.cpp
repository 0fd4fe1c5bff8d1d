#include "load/steps.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "load/shorten.h"

namespace ripeline::load {
namespace {

std::string text_of(trace::StepRange range) {
  return range.first == range.last ? fmt::format("step {}", range.first)
                                   : fmt::format("steps {}..{}", range.first, range.last);
}

// Returns a phrase such as `it has step 0 alone` or `it has steps 0..9`.
std::string what_there_is(const std::vector<trace::Step>& steps) {
  if (steps.empty()) return "nothing ran in it";
  const trace::StepRange all{steps.front().number, steps.back().number};
  if (steps.size() == 1) return fmt::format("it has {} alone", text_of(all));
  const bool has_gaps = all.last - all.first + 1 != static_cast<std::int64_t>(steps.size());
  return (has_gaps ? fmt::format("it has {} of ", steps.size()) : "it has ") + text_of(all);
}

}  // namespace

std::optional<std::int64_t> step_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

spec::Result<trace::StepRange> steps_in(const std::string& text) {
  const std::size_t dots = text.find("..");
  const std::string_view all = text;
  const auto first = step_number(all.substr(0, dots));
  const auto last = dots == text.npos ? first : step_number(all.substr(dots + 2));
  if (!first || !last) {
    return spec::failure(fmt::format(
        "'{}': expected the number of a step, as 3, or a range, as 3..5", shortened(text)));
  }
  if (*last < *first) {
    return spec::failure(fmt::format("{}..{}: the first number is the smaller one", *first, *last));
  }
  return trace::StepRange{*first, *last};
}

std::string ChosenSteps::text() const { return text_of(range); }

spec::Result<ChosenSteps> choose_steps(const trace::File& file,
                                       const std::optional<trace::StepRange>& steps,
                                       const std::string& title) {
  const std::vector<trace::Step> all = trace::steps_of(file);
  const auto is_there = [&](std::int64_t number) {
    return std::any_of(all.begin(), all.end(), [&](auto& s) { return s.number == number; });
  };
  if (steps) {
    for (const std::int64_t end : {steps->first, steps->last}) {
      if (is_there(end)) continue;
      return spec::failure(
          fmt::format("{}: there is no step {}: {}", title, end, what_there_is(all)));
    }
    return ChosenSteps{.range = *steps, .of_several = all.size() > 1};
  }
  if (all.empty()) return ChosenSteps{};
  const auto whole =
      std::find_if(all.rbegin(), all.rend(), [](const trace::Step& s) { return s.is_whole; });
  const std::int64_t step = whole == all.rend() ? all.back().number : whole->number;
  ChosenSteps chosen{.range = {step, step}, .of_several = all.size() > 1};
  if (chosen.of_several) {
    chosen.note = fmt::format("{}: step {} of {}..{}; --step says which", title, step,
                              all.front().number, all.back().number);
  }
  return chosen;
}

}  // namespace ripeline::load
