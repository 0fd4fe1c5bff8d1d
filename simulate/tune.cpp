#include "simulate/tune.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::simulate {
namespace {

using spec::Program;

struct Wait {
  const char* name;
  const char* clauses;
  spec::Patience patience;
};

const std::vector<Wait>& waits() {
  static const std::vector<Wait> kWaits = {
      {"rn", "notices; learns;", {.learns = true}},
      {"fc", "forecasts; learns;", {.forecasts = true, .learns = true}},
      {"rn_fixed", "notices;", {}},
      {"fc_fixed", "forecasts;", {.forecasts = true}},
      {"rn_short", "notices; patience 0.5;", {.patience = {1, 2}}},
      {"rn_long", "notices; patience 4;", {.patience = {4, 1}}},
      {"fc_long", "forecasts; patience 4;", {.patience = {4, 1}, .forecasts = true}}};
  return kWaits;
}

Program dispatched(Program program, spec::Dispatch dispatch) {
  program.dispatch = std::move(dispatch);
  program.hash = spec::hash_of(program);
  return program;
}

Candidate committed(const Program& program, int order) {
  spec::Dispatch dispatch{.in_order = true, .order = order, .hint = {}, .span = {}};
  return {"in order " + Program::at(program.orders, order).name, "", false,
          dispatched(program, std::move(dispatch))};
}

Candidate ready(const Program& program, const spec::Hint& hint, std::string text = {}) {
  spec::Dispatch dispatch{.in_order = false, .order = -1, .hint = hint, .span = {}};
  return {"ready by " + hint.name, std::move(text), false,
          dispatched(program, std::move(dispatch))};
}

bool same_rule(const spec::Hint& a, const spec::Hint& b) {
  return a.rule == b.rule && a.ops == b.ops && a.fill == b.fill && a.order == b.order &&
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

void add_following(const Program& program, int order, std::vector<Candidate>& candidates) {
  const std::string& followed = Program::at(program.orders, order).name;
  candidates.push_back(
      ready(program, {followed, spec::Hint::Rule::order, {}, {}, order, std::nullopt}));
  std::vector<int> fill;
  std::vector<std::string> names;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    if (Program::at(program.ops, op).kind != spec::OpKind::backward_weight) continue;
    fill.push_back(op);
    names.push_back(Program::at(program.ops, op).name);
  }
  const std::string fills = fill.empty() ? "" : fmt::format("fill {}; ", fmt::join(names, ", "));
  for (const Wait& wait : waits()) {
    spec::Hint hint{wait.name, spec::Hint::Rule::order, {}, fill, order, wait.patience};
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

// An order from a file is read only where the dispatch uses it.
bool is_readable(const Program& program, int order) {
  const spec::Order& o = Program::at(program.orders, order);
  return !o.file || !o.rows.empty();
}

// What it did under each seed, and what it held.
class Runs {
 public:
  Runs(const Program& program, int microbatches) : contestant_(program, microbatches) {}

  // Seeds first .. last. What fails says so.
  std::string run(const TimingOptions& times, int first, int last) {
    for (int seed = first; seed <= last; ++seed) {
      const Outcome outcome = contestant_.run(times, static_cast<std::uint64_t>(seed));
      if (!outcome.failure.empty()) return outcome.failure;
      logs.push_back(std::log(outcome.makespan));
      notices += outcome.notices;
      tasks += outcome.tasks;
      peaks.resize(outcome.peaks.size());
      for (std::size_t i = 0; i < peaks.size(); ++i) {
        peaks[i] = std::max(peaks[i], outcome.peaks[i]);
      }
    }
    return {};
  }

  std::vector<double> logs;
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;

 private:
  Contestant contestant_;
};

Gain gain_over(const std::vector<double>& baseline, const std::vector<double>& logs,
               std::size_t first) {
  std::vector<double> ratios;
  for (std::size_t i = first; i < logs.size(); ++i) ratios.push_back(baseline[i] - logs[i]);
  return gain_of(ratios);
}

std::string holds_more(const Program& program, const std::vector<std::int64_t>& baseline,
                       const std::vector<std::int64_t>& peaks) {
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (peaks[i] <= baseline[i]) continue;
    return fmt::format("holds more: {} of {}, not {}", peaks[i],
                       program.pool_name(static_cast<int>(i)), baseline[i]);
  }
  return {};
}

void fill_in(Trial& trial, const Runs& runs) {
  double sum = 0;
  for (const double log : runs.logs) sum += log;
  trial.time = std::exp(sum / static_cast<double>(runs.logs.size()));
  trial.notices = static_cast<double>(runs.notices) / static_cast<double>(runs.tasks);
  trial.peaks = runs.peaks;
}

// Verified, and run with seeds 1 .. seeds, as the baseline was.
Trial tried(Candidate candidate, const Runs& baseline, int microbatches, const TimingOptions& times,
            int seeds) {
  Trial trial{.candidate = std::move(candidate)};
  const Program& program = trial.candidate.program;
  trial.verdict = verify::verify(program).outcome;
  if (trial.verdict != verify::Outcome::proved) trial.excluded = "not proved";
  Runs runs(program, microbatches);
  if (!runs.run(times, 1, seeds).empty()) {
    trial.excluded = "does not end";
    return trial;
  }
  fill_in(trial, runs);
  trial.gain = gain_over(baseline.logs, runs.logs, 0);
  if (trial.excluded.empty()) {
    trial.excluded = holds_more(program, baseline.peaks, trial.peaks);
  }
  return trial;
}

// Measures the fastest that may be picked on seeds that had no part in the choice. It runs again
// from the first seed, so that what it learned is the same; only those after count.
core::Status pick(Runs& baseline, int microbatches, const TimingOptions& times, Tuning& tuning) {
  const auto best = std::find_if(tuning.trials.begin() + 1, tuning.trials.end(),
                                 [](const Trial& t) { return t.excluded.empty(); });
  if (best == tuning.trials.end() || best->gain.low <= 1) return {};
  Runs measured(best->candidate.program, microbatches);
  std::string why = measured.run(times, 1, 2 * tuning.seeds);
  if (why.empty()) why = baseline.run(times, tuning.seeds + 1, 2 * tuning.seeds);
  if (!why.empty()) return {core::StatusCode::invalid, best->candidate.dispatch + ": " + why};
  tuning.measured = gain_over(baseline.logs, measured.logs, static_cast<std::size_t>(tuning.seeds));
  if (tuning.measured.low > 1) {
    tuning.pick = static_cast<std::size_t>(best - tuning.trials.begin());
  }
  return {};
}

}  // namespace

std::vector<Candidate> candidates_of(const Program& program, bool inputs) {
  std::vector<Candidate> candidates;
  const int first = program.dispatch.in_order ? program.dispatch.order : 0;
  const int orders = static_cast<int>(program.orders.size());
  if (first < orders && is_readable(program, first)) {
    candidates.push_back(committed(program, first));
  }
  for (int order = 0; order < orders; ++order) {
    if (order != first && is_readable(program, order)) {
      candidates.push_back(committed(program, order));
    }
  }
  const bool handshakes = std::any_of(program.edges.begin(), program.edges.end(),
                                      [](const spec::Edge& e) { return e.rendezvous; });
  if (!handshakes && !candidates.empty()) {
    for (const spec::Hint& hint : program.hints) {
      const bool readable = hint.order < 0 || is_readable(program, hint.order);
      if (readable) candidates.push_back(ready(program, hint));
    }
    for (int order = 0; order < orders; ++order) {
      if (!Program::at(program.orders, order).file) add_following(program, order, candidates);
    }
  }
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

core::Status tune(const Program& program, int microbatches, const TimingOptions& times, int seeds,
                  Tuning& tuning) {
  Timing timing;
  if (core::Status s = Timing::make(program, microbatches, times, timing); !s.ok()) return s;
  const bool inputs = times.jitter.input > 0 || (times.profile && !times.profile->inputs.empty());
  std::vector<Candidate> candidates = candidates_of(program, inputs);
  if (candidates.empty()) {
    return {core::StatusCode::invalid, program.name + " has no order to compare with"};
  }
  tuning = {};
  tuning.seeds = timing.draws() ? seeds : 2;
  Runs baseline(candidates.front().program, microbatches);
  const std::string failure = baseline.run(times, 1, tuning.seeds);
  if (!failure.empty()) {
    return {core::StatusCode::invalid, candidates.front().dispatch + ": " + failure};
  }
  for (Candidate& candidate : candidates) {
    tuning.trials.push_back(
        tried(std::move(candidate), baseline, microbatches, times, tuning.seeds));
    const Trial& first = tuning.trials.front();
    if (first.excluded.empty()) continue;
    return {core::StatusCode::invalid, first.candidate.dispatch + ": " + first.excluded};
  }
  std::stable_sort(tuning.trials.begin() + 1, tuning.trials.end(),
                   [](const Trial& a, const Trial& b) { return a.gain.ratio > b.gain.ratio; });
  return pick(baseline, microbatches, times, tuning);
}

}  // namespace ripeline::simulate
