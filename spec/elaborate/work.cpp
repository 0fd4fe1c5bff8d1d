#include "spec/elaborate/work.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/long_work.h"

namespace ripeline::spec::elaboration {
namespace {

constexpr std::size_t kMostNamesShown = 20;

template <class T>
int find(const std::vector<TreeNode<T>>& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].node->name.text == name) return static_cast<int>(i);
  }
  return -1;
}

template <class T>
Names names(const std::vector<TreeNode<T>>& items) {
  Names result;
  for (const TreeNode<T>& item : items) result.push_back(item.node->name.text);
  return result;
}

}  // namespace

void Values::set(std::string_view name, Rational value) {
  for (auto& [known, old] : values_) {
    if (known == name) {
      old = value;
      return;
    }
  }
  values_.emplace_back(name, value);
}

Lookup Values::lookup() const {
  return [this](std::string_view name) -> std::optional<Rational> {
    for (const auto& [known, value] : values_) {
      if (known == name) return value;
    }
    return std::nullopt;
  };
}

// An error that occurs at every stage is reported once, for the first stage. An error with an empty
// span is in the text of --dispatch.
void Work::error(std::string id, std::string message, std::string hint, Span span) {
  if (span == Span{}) {
    const std::string option = fmt::format("--dispatch \"{}\"", options.dispatch);
    errors.push_back({std::move(id), std::move(message), std::move(hint), span, option});
    return;
  }
  const bool is_known = std::any_of(errors.begin(), errors.end(), [&](const Diagnostic& d) {
    return d.id == id && d.span == span;
  });
  if (!is_known) errors.push_back({std::move(id), std::move(message), std::move(hint), span});
}

void Work::error(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics) error(d.id, d.message, d.hint, d.span);
}

void Work::unsupported(std::string construct, Span span) {
  const auto& list = program.unsupported;
  const bool listed = std::any_of(list.begin(), list.end(), [&](const Unsupported& u) {
    return u.construct == construct && u.span == span;
  });
  if (!listed) program.unsupported.push_back({std::move(construct), span});
}

Names Work::op_names() const { return names(ops); }
Names Work::resource_names() const { return names(resources); }
Names Work::order_names() const { return names(orders); }
Names Work::hint_names() const { return names(hints); }
int Work::find_op(std::string_view name) const { return find(ops, name); }
int Work::find_resource(std::string_view name) const { return find(resources, name); }
int Work::find_order(std::string_view name) const { return find(orders, name); }
int Work::find_hint(std::string_view name) const { return find(hints, name); }
int Work::find_channel(std::string_view name) const { return find(channels, name); }
bool Work::declares_ranks() const { return find(params, "ranks") >= 0; }
bool Work::one_count() const { return program.microbatches.max == program.microbatches.min; }

std::string choices(const std::string& what, std::string_view name, const Names& candidates) {
  if (candidates.empty()) return fmt::format("there are no {} here", what);
  const std::size_t shown = std::min(candidates.size(), kMostNamesShown);
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = fmt::format("{} here: {}{}.", what, fmt::join(candidates.begin(), end, ", "),
                                 shown < candidates.size() ? ", ..." : "");
  if (const auto meant = nearest(name, candidates)) {
    text += fmt::format(" Did you mean {}?", *meant);
  }
  return text;
}

Values param_values(const Work& work) {
  Values values;
  for (const auto& [name, value] : work.program.params) values.set(name, value);
  if (work.one_count()) values.set("microbatches", work.program.microbatches.min);
  return values;
}

Values global_values(const Work& work) {
  Values values = param_values(work);
  values.set("ranks", work.program.ranks);
  values.set("stages", static_cast<std::int64_t>(work.program.stages.size()));
  return values;
}

void set_stage(Values& values, const Work& work, int stage) {
  const Stage& placed = at(work.program.stages, stage);
  values.set("s", stage);
  values.set("chunk", placed.chunk);
  set_rank(values, work, placed.rank);
}

void set_rank(Values& values, const Work& work, int rank) {
  values.set("r", rank);
  values.set("chunks", static_cast<std::int64_t>(at(work.rank_stages, rank).size()));
}

std::optional<Rational> value_of(Work& work, const Expr& expr, const Values& values,
                                 const std::string& where) {
  const Result<Rational> value = evaluate(expr, values.lookup());
  if (value.ok()) return value.value();
  for (const Diagnostic& d : value.errors()) work.error(d.id, d.message + where, d.hint, d.span);
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(Work& work, const Expr& expr, const Values& values,
                                       const std::string& where) {
  stop_point();
  const std::optional<Rational> value = value_of(work, expr, values, where);
  if (!value) return std::nullopt;
  if (value->is_integer()) return value->numerator;
  work.error("expr-not-integer",
             fmt::format("{}/{} is no integer{}", value->numerator, value->denominator, where),
             "use div, floor or ceil to round", expr.span);
  return std::nullopt;
}

}  // namespace ripeline::spec::elaboration
