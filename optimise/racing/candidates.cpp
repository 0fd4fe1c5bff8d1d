#include "optimise/racing/candidates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/dispatch_text.h"

namespace ripeline::optimise {
namespace {

using spec::Program;

struct WaitingRule {
  const char* name;
  const char* clauses;
  spec::Patience patience;
  bool fills = false;  // whether gaps are filled with weight gradients
};

const std::vector<WaitingRule>& waiting_rules() {
  static const std::vector<WaitingRule> all = {
      {"rn", "notices; learns;", {.learns = true}},
      {"fc", "forecasts; learns;", {.forecasts = true, .learns = true}},
      {"rn_fill", "notices; learns;", {.learns = true}, true},
      {"fc_fill", "forecasts; learns;", {.forecasts = true, .learns = true}, true},
      {"rn_fixed", "notices;", {}},
      {"fc_fixed", "forecasts;", {.forecasts = true}},
      {"rn_short", "notices; patience 0.5;", {.patience = {1, 2}}},
      {"rn_long", "notices; patience 4;", {.patience = {4, 1}}},
      {"fc_long", "forecasts; patience 4;", {.patience = {4, 1}, .forecasts = true}}};
  return all;
}

Program dispatched(Program program, spec::Dispatch dispatch) {
  program.dispatch = std::move(dispatch);
  program.hash = spec::hash_of(program);
  return program;
}

Candidate committed(const Program& program, int order) {
  spec::Dispatch dispatch{.in_order = true, .order = order, .hint = {}, .span = {}};
  return {"in order " + at(program.orders, order).name, "", false,
          dispatched(program, std::move(dispatch))};
}

Candidate ready(const Program& program, const spec::Hint& hint, std::string text = {}) {
  spec::Dispatch dispatch{.in_order = false, .order = -1, .hint = hint, .span = {}};
  return {"ready by " + hint.name, std::move(text), false,
          dispatched(program, std::move(dispatch))};
}

bool same_rule(const spec::Hint& a, const spec::Hint& b) {
  return a.rule == b.rule && a.places == b.places && a.fill == b.fill && a.order == b.order &&
         a.patience == b.patience;
}

// Returns `wish`, with a number appended if the program already uses that name.
std::string unused(const Program& program, const std::string& wish) {
  const auto taken = [&](const std::string& name) {
    const auto has = [&](const auto& x) { return x.name == name; };
    return std::any_of(program.hints.begin(), program.hints.end(), has) ||
           std::any_of(program.orders.begin(), program.orders.end(), has);
  };
  std::string name = wish;
  for (int i = 2; taken(name); ++i) name = wish + std::to_string(i);
  return name;
}

// Adds the dispatch `ready by` the order, unless a hint has the same name as the order.
void add_plain(const Program& program, int order, std::vector<Candidate>& candidates) {
  const std::string& followed = at(program.orders, order).name;
  const bool hidden = std::any_of(program.hints.begin(), program.hints.end(),
                                  [&](const spec::Hint& h) { return h.name == followed; });
  if (hidden) return;
  candidates.push_back(
      ready(program, {followed, spec::Hint::Rule::order, {}, {}, order, std::nullopt}));
}

void add_waiting(const Program& program, int order, std::vector<Candidate>& candidates) {
  const std::string& followed = at(program.orders, order).name;
  std::vector<spec::HintPlace> weights;
  std::vector<std::string> names;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    if (at(program.ops, op).kind != spec::OpKind::backward_weight) continue;
    weights.push_back({.op = op});
    names.push_back(at(program.ops, op).name);
  }
  for (const WaitingRule& wait : waiting_rules()) {
    if (wait.fills && weights.empty()) continue;
    const std::string fills = wait.fills ? fmt::format("fill {}; ", fmt::join(names, ", ")) : "";
    spec::Hint hint{wait.name, spec::Hint::Rule::order, {}, {}, order, wait.patience};
    if (wait.fills) hint.fill = weights;
    const auto declared = std::any_of(program.hints.begin(), program.hints.end(),
                                      [&](const spec::Hint& h) { return same_rule(h, hint); });
    if (declared) continue;
    const bool several = program.orders.size() > 1;
    hint.name = unused(program, several ? followed + "_" + wait.name : wait.name);
    const std::string text =
        fmt::format("hint {} {{ follow {}; {}{} }}", hint.name, followed, fills, wait.clauses);
    candidates.push_back(ready(program, hint, text));
  }
}

// Adds hints that keep room for the order they follow. If a rank has several stages, only this may
// make a hint safe. It may also be faster than `leaving`, which is then unnecessary.
void add_keeping(const Program& program, std::vector<Candidate>& candidates) {
  const auto is_later = [](const spec::Stage& s) { return s.chunk > 0; };
  const auto is_copy = [](const spec::Lane& l) { return l.engine != spec::Engine::compute; };
  if (std::none_of(program.stages.begin(), program.stages.end(), is_later) ||
      program.tensor_parallel.members > 1 || !program.pairs.empty() ||
      std::any_of(program.lanes.begin(), program.lanes.end(), is_copy)) {
    return;
  }
  const std::size_t found = candidates.size();
  for (std::size_t i = 0; i < found; ++i) {
    const spec::Dispatch& dispatch = candidates[i].program.dispatch;
    const int order = dispatch.in_order ? -1 : dispatch.hint.order;
    if (order < 0 || dispatch.keeps >= 0 || at(program.orders, order).file) continue;
    Candidate kept = candidates[i];
    kept.program.dispatch.keeps = order;
    kept.dispatch = spec::dispatch_text(kept.program);
    kept.program.hash = spec::hash_of(kept.program);
    candidates.push_back(std::move(kept));
  }
}

// Whether the order's rows are known. An order from a file is read only if the dispatch uses it.
bool is_readable(const Program& program, int order) {
  const spec::Order& o = at(program.orders, order);
  return !o.file || !o.rows.empty();
}

bool can_dispatch(const Program& program, const spec::Hint& hint) {
  if (hint.order < 0) return true;
  const bool at_chunk = std::any_of(hint.fill.begin(), hint.fill.end(),
                                    [](const spec::HintPlace& p) { return !p.chunk.empty(); });
  if (at_chunk && hint.patience) return false;
  const bool file = at(program.orders, hint.order).file.has_value();
  return is_readable(program, hint.order) && (!file || (!hint.patience && hint.fill.empty()));
}

// The unchanged program, with its own dispatch.
Candidate own(const Program& program) { return {spec::dispatch_text(program), "", false, program}; }

bool has_rendezvous(const Program& program) {
  return std::any_of(program.edges.begin(), program.edges.end(),
                     [](const spec::Edge& e) { return e.rendezvous; });
}

}  // namespace

std::vector<Candidate> candidates_of(const Program& program, bool inputs) {
  std::vector<Candidate> candidates;
  const int orders = static_cast<int>(program.orders.size());
  for (int order = 0; order < orders; ++order) {
    if (is_readable(program, order)) candidates.push_back(committed(program, order));
  }
  if (!has_rendezvous(program)) {
    for (const spec::Hint& hint : program.hints) {
      if (can_dispatch(program, hint)) candidates.push_back(ready(program, hint));
    }
    for (int order = 0; order < orders; ++order) {
      if (is_readable(program, order)) add_plain(program, order, candidates);
      if (!at(program.orders, order).file) add_waiting(program, order, candidates);
    }
  }
  add_keeping(program, candidates);
  Candidate baseline = own(program);
  std::erase_if(candidates, [&](const Candidate& c) { return c.dispatch == baseline.dispatch; });
  candidates.insert(candidates.begin(), std::move(baseline));
  if (!inputs || program.inputs == spec::InputOrder::pyramid) return candidates;
  const std::size_t natural = candidates.size();
  for (std::size_t i = 0; i < natural; ++i) {
    Candidate sorted = candidates[i];
    sorted.pyramid = true;
    sorted.program.inputs = spec::InputOrder::pyramid;
    sorted.program.hash = spec::hash_of(sorted.program);
    candidates.push_back(std::move(sorted));
  }
  return candidates;
}

std::vector<std::string> notes_on(const Program& program) {
  std::vector<std::string> notes;
  if (has_rendezvous(program)) notes.emplace_back("no hint is tried: its links meet (rendezvous)");
  for (int order = 0; order < static_cast<int>(program.orders.size()); ++order) {
    const spec::Order& o = at(program.orders, order);
    if (!o.file) continue;
    notes.push_back(is_readable(program, order)
                        ? fmt::format("no hint waits for order {}, which is from a file", o.name)
                        : fmt::format("order {} is not tried: it is from a file, which is read "
                                      "only where the program dispatches by it",
                                      o.name));
  }
  return notes;
}

}  // namespace ripeline::optimise
