#include "spec/elaborate/params.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

constexpr std::array kReserved = {"s", "r", "m", "chunk", "stages", "microbatches", "input"};

void evaluate_param(Work& work, const ast::Param& param, Values& values, Names& known) {
  const std::string& name = param.name.text;
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
    work.error("param-reserved-name", fmt::format("'{}' has a meaning of its own", name),
               "choose another name for this param", param.name.span);
    return;
  }
  std::optional<std::int64_t> value;
  const auto define = work.options.defines.find(name);
  if (define != work.options.defines.end()) {
    value = define->second;
  } else {
    for (const std::string& used : names_in(param.value)) {
      if (std::find(known.begin(), known.end(), used) != known.end()) continue;
      return;  // check_names() reports it
    }
    value = integer_of(work, param.value, values);
  }
  if (!value) return;
  known.push_back(name);
  values.set(name, *value);
  work.program.params.emplace_back(name, *value);
}

void evaluate_range(Work& work) {
  const ast::Microbatches& written = *work.microbatches.node;
  MicrobatchRange& range = work.program.microbatches;
  if (written.any) return;
  Values values;
  for (const auto& [name, value] : work.program.params) values.set(name, value);
  const auto knows = [&](const Expr& expr) {
    const Names used = names_in(expr);
    return std::all_of(used.begin(), used.end(),
                       [&](const std::string& name) { return values.lookup()(name).has_value(); });
  };
  if (!knows(written.range.first) || !knows(written.range.last)) return;  // check_names() says so
  const auto first = integer_of(work, written.range.first, values);
  auto last = integer_of(work, written.range.last, values);
  if (!first || !last) return;
  if (written.range.exclusive)
    --*last;  // no overflow: evaluate() never gives the smallest 64-bit value
  if (*first < 1) {
    work.error("microbatches-below-one", fmt::format("{} microbatches make no step", *first),
               "the fewest is 1", written.range.first.span);
  } else if (*last < *first) {
    work.error("microbatches-empty",
               fmt::format("there is no microbatch count from {} to {}", *first, *last),
               "`a .. b` includes b, `a ..< b` does not", work.microbatches.span);
  } else if (*last > kMostMicrobatches) {
    work.error("microbatches-too-many", fmt::format("{} microbatches are too many", *last),
               fmt::format("the most is {}; `any` proves for every count", kMostMicrobatches),
               written.range.last.span);
  } else {
    range = {static_cast<int>(*first), static_cast<int>(*last)};
  }
}

// Narrows the range to first .. last; `counts` is the text of these counts in `option`.
void narrow_range(Work& work, std::int64_t first, std::int64_t last, const std::string& counts,
                  const std::string& option) {
  MicrobatchRange& range = work.program.microbatches;
  const auto inside = [&](std::int64_t count) {
    return count >= 1 && count <= kMostMicrobatches && range.contains(static_cast<int>(count));
  };
  if (!inside(first) || !inside(last)) {
    const std::string end = range.max ? fmt::format(".. {}", *range.max)
                                      : fmt::format("and up, at most {}", kMostMicrobatches);
    work.errors.push_back({.id = "define-microbatches",
                           .message = fmt::format("{} is outside of the range", counts),
                           .hint = fmt::format("the program's range is {} {}", range.min, end),
                           .span = {},
                           .option = option});
    return;
  }
  range = {static_cast<int>(first), static_cast<int>(last)};
}

// Narrows the range by -D, then by -m.
void narrow_range(Work& work) {
  const std::size_t errors = work.errors.size();
  work.written_range = work.program.microbatches;
  const auto count = work.options.defines.find("microbatches");
  if (count != work.options.defines.end()) {
    narrow_range(work, count->second, count->second, std::to_string(count->second),
                 fmt::format("-D microbatches={}", count->second));
  }
  if (const auto& asked = work.options.microbatches; asked && work.errors.size() == errors) {
    const std::string counts = asked->first == asked->last
                                   ? std::to_string(asked->first)
                                   : fmt::format("{}..{}", asked->first, asked->last);
    narrow_range(work, asked->first, asked->last, counts, "-m " + counts);
  }
}

}  // namespace

void evaluate_params(Work& work) {
  Values values;
  Names known;
  Names names;
  for (const auto& param : work.params) {
    names.push_back(param.node->name.text);
    evaluate_param(work, *param.node, values, known);
  }
  for (const auto& [name, value] : work.options.defines) {
    if (name == "microbatches") continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      work.errors.push_back({.id = "define-unknown-param",
                             .message = fmt::format("no param is called '{}'", name),
                             .hint = choices("params", name, names),
                             .span = {},
                             .option = fmt::format("-D {}={}", name, value)});
    }
  }
  if (work.microbatches.node == nullptr) return;
  const std::size_t errors = work.errors.size();
  evaluate_range(work);
  if (work.errors.size() == errors) narrow_range(work);
}

}  // namespace ripeline::spec::elaboration
