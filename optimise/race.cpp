#include "optimise/race.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/dispatch_text.h"

namespace ripeline::simulate {
namespace {

using spec::Program;

struct Wait {
  const char* name;
  const char* clauses;
  spec::Patience patience;
  bool fills = false;  // gaps with weight gradients
};

const std::vector<Wait>& waits() {
  static const std::vector<Wait> all = {
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

// A name that the program does not have.
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

// What the program has as it is: `ready by` an order, or by the hint that has its name.
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
  for (const Wait& wait : waits()) {
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

// With several stages on a rank a hint that follows an order may be safe only where room is kept
// for the order, and is faster where that lets it do without `leaving`.
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

// An order from a file is read only where the dispatch uses it.
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

// The program itself, under the name of its dispatch.
Candidate own(const Program& program) { return {spec::dispatch_text(program), "", false, program}; }

bool has_rendezvous(const Program& program) {
  return std::any_of(program.edges.begin(), program.edges.end(),
                     [](const spec::Edge& e) { return e.rendezvous; });
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

// Empty: always.

bool is_stopped(const RaceOptions& options) { return options.go_on && !options.go_on(); }
core::Status stopped() { return {core::StatusCode::failed, "stopped before all were compared"}; }

// What it did under each seed, and what it held. The options must outlive it.
class Runs {
 public:
  Runs(const Program& program, int microbatches, const RaceOptions& options)
      : contestant_(program, microbatches), options_(options) {}

  // Goes on with so many seeds. Fails by status if one did not end (`end` says how), or took no
  // time, or if it is stopped.
  core::Status run(const TimingOptions& times, int seeds) {
    peaks.clear();
    for (int i = 0; i < seeds; ++i) {
      if (is_stopped(options_)) return stopped();
      const std::uint64_t seed = times.seed + logs.size();
      const Outcome outcome = contestant_.run(times, seed);
      end = outcome.end;
      if (const auto why = why_unused(outcome)) {
        return {core::StatusCode::failed, fmt::format("{} (seed {})", *why, seed)};
      }
      add(outcome);
    }
    return {};
  }

  std::vector<double> logs;
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;  // of the last call
  End end = End::ended;

 private:
  [[nodiscard]] double value_of(const Outcome& outcome) const {
    return options_.by_span ? outcome.span : outcome.makespan;
  }

  [[nodiscard]] std::optional<std::string> why_unused(const Outcome& outcome) const {
    switch (outcome.end) {
      case End::stuck:
        return "does not end: " + outcome.failure;
      case End::breach:
        return "breach: " + outcome.failure;
      case End::refused:
        return "times refused: " + outcome.failure;
      case End::ended:
        break;
    }
    if (value_of(outcome) > 0) return std::nullopt;
    return "nothing takes time";
  }

  void add(const Outcome& outcome) {
    logs.push_back(std::log(value_of(outcome)));
    notices += outcome.notices;
    tasks += outcome.tasks;
    peaks.resize(outcome.peaks.size());
    for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i] = std::max(peaks[i], outcome.peaks[i]);
  }

  Contestant contestant_;
  const RaceOptions& options_;
};

Gain gain_over(const std::vector<double>& baseline, const std::vector<double>& logs,
               std::size_t first) {
  std::vector<double> ratios;
  for (std::size_t i = first; i < logs.size(); ++i) ratios.push_back(baseline[i] - logs[i]);
  return gain_of(ratios);
}

// What it holds more of than the baseline; nothing: it does not.
std::optional<std::string> holds_more(const Program& program,
                                      const std::vector<std::int64_t>& baseline,
                                      const std::vector<std::int64_t>& peaks) {
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (peaks[i] <= baseline[i]) continue;
    return fmt::format("holds more: {} of {}, not {}", peaks[i],
                       program.pool_name(static_cast<int>(i)), baseline[i]);
  }
  return std::nullopt;
}

void fill_in(Trial& trial, const Runs& runs) {
  double sum = 0;
  for (const double log : runs.logs) sum += log;
  trial.time = std::exp(sum / static_cast<double>(runs.logs.size()));
  trial.notices = static_cast<double>(runs.notices) / static_cast<double>(runs.tasks);
  trial.peaks = runs.peaks;
}

void exclude(Trial& trial, const std::string& why) {
  trial.excluded = trial.excluded ? *trial.excluded + "; " + why : why;
}

// Of a candidate whose twin, with the other order of inputs, was judged: the twin's. What is proved
// of one hint holds of each that chooses among the same tasks.
verify::Outcome verdict_of(const Candidate& candidate, const std::vector<Trial>& before,
                           const Judge& judge) {
  const spec::Dispatch& own = candidate.program.dispatch;
  const bool known = std::any_of(before.begin(), before.end(), [&](const Trial& t) {
    const spec::Dispatch& other = t.candidate.program.dispatch;
    return t.verdict == verify::Outcome::proved && !own.in_order && !other.in_order &&
           own.keeps == other.keeps && candidate.program.tensor_parallel.members == 1;
  });
  if (known) return verify::Outcome::proved;
  const auto twin = std::find_if(before.begin(), before.end(), [&](const Trial& t) {
    return candidate.pyramid && !t.candidate.pyramid &&
           t.candidate.dispatch == candidate.dispatch && t.candidate.hint == candidate.hint;
  });
  if (twin != before.end()) return twin->verdict;
  return judge ? judge(candidate.program) : verify::verify(candidate.program).outcome;
}

// Run with the seeds with which the baseline was.
void try_out(Trial& trial, const Runs& baseline, int microbatches, const TimingOptions& times,
             const RaceOptions& options) {
  if (trial.verdict != verify::Outcome::proved) exclude(trial, "not proved");
  Runs runs(trial.candidate.program, microbatches, options);
  if (const auto ran = runs.run(times, static_cast<int>(baseline.logs.size())); !ran.ok()) {
    trial.end = runs.end == End::ended ? End::refused : runs.end;
    exclude(trial, ran.message());
    return;
  }
  fill_in(trial, runs);
  trial.gain = gain_over(baseline.logs, runs.logs, 0);
  const auto more = holds_more(trial.candidate.program, baseline.peaks, trial.peaks);
  if (more) exclude(trial, *more);
}

// Measures the fastest that may be picked on seeds that had no part in the choice, but for what it
// holds: what holds more with them is passed over. Each runs again from the first seed, so that
// what it learned is the same; only those after count.
core::Status pick(Runs& baseline, int microbatches, const TimingOptions& times,
                  const RaceOptions& options, RaceResult& result) {
  const int seeds = result.seeds;
  const auto chosen = static_cast<std::size_t>(seeds);
  for (std::size_t i = 1; i < result.trials.size(); ++i) {
    Trial& trial = result.trials[i];
    if (trial.excluded || trial.gain.low <= 1) continue;
    if (baseline.logs.size() == chosen) {
      if (const auto ran = baseline.run(times, seeds); !ran.ok()) {
        return {core::StatusCode::invalid,
                result.trials.front().candidate.dispatch + ": " + ran.message()};
      }
    }
    Runs runs(trial.candidate.program, microbatches, options);
    core::Status ran = runs.run(times, seeds);
    if (ran.ok()) ran = runs.run(times, seeds);
    if (is_stopped(options)) return stopped();
    if (!ran.ok()) {
      exclude(trial, ran.message());
      continue;
    }
    if (const auto more = holds_more(trial.candidate.program, baseline.peaks, runs.peaks)) {
      exclude(trial, fmt::format("{} on seeds {} to {}", *more, times.seed + chosen,
                                 times.seed + 2 * chosen - 1));
      continue;
    }
    result.measured = gain_over(baseline.logs, runs.logs, chosen);
    if (result.measured.low > 1) result.pick = i;
    return {};
  }
  return {};
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

core::Status race(const Program& program, int microbatches, const TimingOptions& times,
                  const RaceOptions& options, RaceResult& result) {
  Timing timing;
  if (core::Status s = Timing::make(program, microbatches, times, timing); !s.ok()) return s;
  const bool inputs = times.jitter.input > 0 || (times.profile && !times.profile->inputs.empty());
  std::vector<Candidate> candidates = candidates_of(program, inputs);
  result = {};
  result.notes = notes_on(program);
  if (candidates.size() == 1) {
    return {core::StatusCode::invalid,
            fmt::format("{}: nothing but its own dispatch can be tried{}{}", program.name,
                        result.notes.empty() ? "" : ": ", fmt::join(result.notes, "; "))};
  }
  result.seed = times.seed;
  result.seeds = timing.draws() ? options.seeds : 2;
  Runs baseline(candidates.front().program, microbatches, options);
  if (const auto ran = baseline.run(times, result.seeds); !ran.ok()) {
    return {core::StatusCode::invalid, candidates.front().dispatch + ": " + ran.message()};
  }
  for (Candidate& candidate : candidates) {
    Trial trial{.candidate = std::move(candidate)};
    trial.verdict = verdict_of(trial.candidate, result.trials, options.judge);
    try_out(trial, baseline, microbatches, times, options);
    if (is_stopped(options)) return stopped();
    result.trials.push_back(std::move(trial));
    const Trial& first = result.trials.front();
    if (!first.excluded) continue;
    return {core::StatusCode::invalid, first.candidate.dispatch + ": " + *first.excluded};
  }
  std::stable_sort(result.trials.begin() + 1, result.trials.end(),
                   [](const Trial& a, const Trial& b) {
                     const bool ended = a.end == End::ended;
                     if (ended != (b.end == End::ended)) return ended;
                     return a.gain.ratio > b.gain.ratio;
                   });
  return pick(baseline, microbatches, times, options, result);
}

}  // namespace ripeline::simulate
