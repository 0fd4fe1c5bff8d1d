#include "optimise/racing/race.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::optimise {
namespace {

using core::Status;
using core::StatusCode;
using simulate::TimingOptions;
using spec::Program;

constexpr double kWrongDrops = .001;  // the probability that a race drops the fastest

bool is_stopped(const RaceOptions& options) { return options.go_on && !options.go_on(); }
Status stopped() { return {StatusCode::failed, "stopped before all were compared"}; }

// The runs of one dispatch: its time for each seed, and its peaks. `options` must outlive the runs.
class Runs {
 public:
  Runs(const Program& program, int microbatches, const RaceOptions& options)
      : contestant_(program, microbatches), options_(options) {}

  // Runs until there are results for `seeds` seeds. Fails by status if a run does not end (`end`
  // then says how), if nothing takes time, or if the race is stopped.
  Status run_to(const TimingOptions& times, int seeds) {
    while (logs.size() < static_cast<std::size_t>(seeds)) {
      if (is_stopped(options_)) return stopped();
      const std::uint64_t seed = times.seed + logs.size();
      const Outcome outcome = contestant_.run(times, seed);
      end = outcome.end;
      if (const auto why = why_unused(outcome)) {
        return {StatusCode::failed, fmt::format("{} (seed {})", *why, seed)};
      }
      add(outcome);
    }
    return {};
  }

  std::vector<double> logs;
  std::int64_t notices = 0;
  std::int64_t tasks = 0;
  std::vector<std::int64_t> peaks;  // since pick() last cleared them
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

// Describes the first pool whose peak exceeds the baseline's; nullopt if there is none.
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

// The candidate's verdict. Candidates that differ only in the order of inputs share a verdict. A
// proof for one hint is also a proof for every hint that chooses among the same tasks.
verify::Outcome verdict_of(const Candidate& candidate, const std::vector<const Trial*>& before,
                           const Judge& judge) {
  const spec::Dispatch& own = candidate.program.dispatch;
  const bool known = std::any_of(before.begin(), before.end(), [&](const Trial* t) {
    const spec::Dispatch& other = t->candidate.program.dispatch;
    return t->verdict == verify::Outcome::proved && !own.in_order && !other.in_order &&
           own.keeps == other.keeps && candidate.program.tensor_parallel.members == 1;
  });
  if (known) return verify::Outcome::proved;
  const auto twin = std::find_if(before.begin(), before.end(), [&](const Trial* t) {
    return candidate.pyramid && !t->candidate.pyramid &&
           t->candidate.dispatch == candidate.dispatch && t->candidate.hint == candidate.hint;
  });
  if (twin != before.end()) return (*twin)->verdict;
  return judge ? judge(candidate.program) : verify::verify(candidate.program).outcome;
}

struct Entrant {
  Trial trial;
  std::unique_ptr<Runs> runs;
  const Entrant* slower_than = nullptr;  // the faster entrant, if this one was dropped

  // Whether the entrant has ended each run so far and was not dropped.
  [[nodiscard]] bool is_running() const { return trial.end == End::ended && !trial.dropped; }
  [[nodiscard]] bool may_be_picked() const { return is_running() && !trial.excluded; }
  [[nodiscard]] std::span<const double> first(int seeds) const {
    const auto most = static_cast<std::size_t>(seeds);
    return std::span(runs->logs).first(std::min(runs->logs.size(), most));
  }
};

void exclude(Trial& trial, const std::string& why) {
  trial.excluded = trial.excluded ? *trial.excluded + "; " + why : why;
}

class Race {
 public:
  // `times` and `options` must outlive the race.
  Race(int microbatches, const TimingOptions& times, const RaceOptions& options, int seeds)
      : microbatches_(microbatches), times_(times), options_(options), seeds_(seeds) {
    for (int look = first_look(); look < seeds_; look *= 2) ++looks_;
  }

  // Judges all candidates. Fails if the baseline does not end or is not proved, or if stopped.
  Status enter(std::vector<Candidate> candidates) {
    std::vector<const Trial*> before;
    for (Candidate& candidate : candidates) {
      auto entrant = std::make_unique<Entrant>();
      Trial& trial = entrant->trial;
      trial.candidate = std::move(candidate);
      entrant->runs = std::make_unique<Runs>(trial.candidate.program, microbatches_, options_);
      entrants_.push_back(std::move(entrant));
      if (before.empty()) {
        if (const Status ran = run_baseline(seeds_); !ran.ok()) return ran;
        trial.peaks = entrants_.front()->runs->peaks;
      }
      trial.verdict = verdict_of(trial.candidate, before, options_.judge);
      if (before.empty() && trial.verdict != verify::Outcome::proved) {
        return {StatusCode::invalid, trial.candidate.dispatch + ": not proved"};
      }
      before.push_back(&trial);
    }
    return {};
  }

  // Runs each entrant on the seeds that choose, until it is dropped or has run all of them.
  Status choose() {
    for (int seeds = first_look();; seeds *= 2) {
      seeds = std::min(seeds, seeds_);
      for (const auto& entrant : entrants_) {
        if (!entrant->is_running()) continue;
        if (const Status ran = run(*entrant, seeds); !ran.ok()) return ran;
      }
      if (const Status back = bring_back(seeds); !back.ok()) return back;
      if (seeds == seeds_) break;
      if (options_.drops) drop_losers(seeds);
    }
    for (const auto& entrant : entrants_) fill_in(*entrant);
    return {};
  }

  // Measures the fastest entrant that may be picked, on seeds that had no part in the choice. If it
  // holds more than the baseline there, or does not end, it is excluded, and the next is measured.
  Status pick(RaceResult& result) {
    Runs& baseline = *entrants_.front()->runs;
    baseline.peaks.clear();
    while (Entrant* const fastest = fastest_beyond_doubt()) {
      if (const Status ran = run_baseline(2 * seeds_); !ran.ok()) return ran;
      Runs& runs = *fastest->runs;
      runs.peaks.clear();
      const Status ran = runs.run_to(times_, 2 * seeds_);
      if (is_stopped(options_)) return stopped();
      const auto more = holds_more(fastest->trial.candidate.program, baseline.peaks, runs.peaks);
      if (ran.ok() && !more) {
        const auto after = static_cast<std::size_t>(seeds_);
        result.measured = gain_over(std::span(baseline.logs).subspan(after),
                                    std::span(runs.logs).subspan(after), options_.measure);
        if (result.measured.low > 1) picked_ = fastest;
        return {};
      }
      const std::uint64_t first = times_.seed + static_cast<std::uint64_t>(seeds_);
      exclude(fastest->trial, ran.ok() ? fmt::format("{} on seeds {} to {}", *more, first,
                                                     first + static_cast<std::uint64_t>(seeds_) - 1)
                                       : ran.message());
      if (const Status back = bring_back(seeds_); !back.ok()) return back;
    }
    return {};
  }

  // Moves the trials into the result, sorted as RaceResult::trials describes.
  void move_trials_to(RaceResult& result) {
    const auto rank = [](const Trial& t) {
      return std::tuple(t.end != End::ended, t.dropped.has_value(), -t.dropped.value_or(0),
                        -t.gain.ratio);
    };
    std::stable_sort(entrants_.begin() + 1, entrants_.end(),
                     [&](const auto& a, const auto& b) { return rank(a->trial) < rank(b->trial); });
    for (const auto& entrant : entrants_) {
      if (entrant.get() == picked_) result.pick = result.trials.size();
      result.trials.push_back(std::move(entrant->trial));
    }
    entrants_.clear();
  }

 private:
  [[nodiscard]] int first_look() const {
    constexpr int kFirst = 8;
    return std::max(kFirst, least_runs(options_.measure));
  }

  Status run_baseline(int seeds) {
    const Entrant& baseline = *entrants_.front();
    const Status ran = baseline.runs->run_to(times_, seeds);
    if (ran.ok()) return ran;
    return {StatusCode::invalid, baseline.trial.candidate.dispatch + ": " + ran.message()};
  }

  // Runs the entrant; sets `excluded` if the entrant must not be picked. Fails only if stopped.
  Status run(Entrant& entrant, int seeds) {
    Trial& trial = entrant.trial;
    Runs& runs = *entrant.runs;
    const Status ran = runs.run_to(times_, seeds);
    if (!ran.ok() && is_stopped(options_)) return stopped();
    trial.excluded.reset();
    if (trial.verdict != verify::Outcome::proved) exclude(trial, "not proved");
    if (!ran.ok()) {
      trial.end = runs.end == End::ended ? End::refused : runs.end;
      exclude(trial, ran.message());
      return {};
    }
    const auto more =
        holds_more(trial.candidate.program, entrants_.front()->trial.peaks, runs.peaks);
    if (more) exclude(trial, *more);
    return {};
  }

  // The fastest running entrant. Without `of_all`, only entrants that may be picked are compared.
  [[nodiscard]] const Entrant& best(int seeds, bool of_all) const {
    const Estimator estimator(options_.measure, static_cast<std::size_t>(seeds));
    const Entrant* fastest = nullptr;
    double least = 0;
    for (const auto& entrant : entrants_) {
      if (of_all ? !entrant->is_running() : !entrant->may_be_picked()) continue;
      const std::span<const double> logs = entrant->first(seeds);
      const double value = estimator.of({logs.begin(), logs.end()});
      if (fastest != nullptr && value >= least) continue;
      fastest = entrant.get();
      least = value;
    }
    return *fastest;
  }

  void drop_losers(int seeds) {
    const Entrant& best_pick = best(seeds, false);
    const Entrant& best_of_all = best(seeds, true);
    const double wrong = kWrongDrops / static_cast<double>(looks_ * (entrants_.size() - 1));
    for (std::size_t i = 1; i < entrants_.size(); ++i) {
      Entrant& entrant = *entrants_[i];
      const Entrant& other = entrant.trial.excluded ? best_of_all : best_pick;
      if (!entrant.is_running() || &entrant == &other) continue;
      const double doubt =
          doubt_that_slower(entrant.first(seeds), other.first(seeds), options_.measure);
      if (doubt >= wrong) continue;
      entrant.trial.dropped = seeds;
      entrant.slower_than = &other;
    }
  }

  // Brings back dropped candidates whose winner was excluded, unless they are excluded themselves.
  Status bring_back(int seeds) {
    for (bool found = true; found;) {
      found = false;
      for (const auto& entrant : entrants_) {
        if (!entrant->trial.dropped || entrant->trial.excluded) continue;
        if (!entrant->slower_than->trial.excluded) continue;
        entrant->trial.dropped.reset();
        if (const Status ran = run(*entrant, seeds); !ran.ok()) return ran;
        fill_in(*entrant);
        found = true;
      }
    }
    return {};
  }

  void fill_in(Entrant& entrant) {
    Trial& trial = entrant.trial;
    if (trial.end != End::ended) return;
    const Runs& runs = *entrant.runs;
    const std::span<const double> logs = entrant.first(seeds_);
    const Estimator estimator(options_.measure, logs.size());
    trial.time = std::exp(estimator.of({logs.begin(), logs.end()}));
    trial.notices = static_cast<double>(runs.notices) / static_cast<double>(runs.tasks);
    trial.peaks = runs.peaks;
    trial.gain =
        gain_over(entrants_.front()->first(static_cast<int>(logs.size())), logs, options_.measure);
  }

  [[nodiscard]] Entrant* fastest_beyond_doubt() {
    Entrant* fastest = nullptr;
    for (std::size_t i = 1; i < entrants_.size(); ++i) {
      Entrant& entrant = *entrants_[i];
      if (!entrant.may_be_picked() || entrant.trial.gain.low <= 1) continue;
      const double ratio = entrant.trial.gain.ratio;
      if (fastest == nullptr || ratio > fastest->trial.gain.ratio) fastest = &entrant;
    }
    return fastest;
  }

  int microbatches_;
  const TimingOptions& times_;
  const RaceOptions& options_;
  int seeds_;
  std::size_t looks_ = 0;  // the number of times at which losers are dropped
  std::vector<std::unique_ptr<Entrant>> entrants_;
  const Entrant* picked_ = nullptr;
};

}  // namespace

Status fits(const Measure& measure, bool draws, int seeds) {
  if (!measure.percentile) return {};
  if (!draws) {
    return {StatusCode::invalid,
            fmt::format("the {} of times that do not vary: expected --jitter, or a profile with "
                        "spreads",
                        name_of(measure))};
  }
  if (seeds >= least_runs(measure)) return {};
  return {StatusCode::invalid,
          fmt::format("the {} needs at least {} seeds, so that five are on either side of it: "
                      "found {}",
                      name_of(measure), least_runs(measure), seeds)};
}

Status race(const Program& program, int microbatches, const TimingOptions& times,
            const RaceOptions& options, RaceResult& result) {
  simulate::Timing timing;
  if (Status s = simulate::Timing::make(program, microbatches, times, timing); !s.ok()) return s;
  if (Status s = fits(options.measure, timing.draws(), options.seeds); !s.ok()) return s;
  const bool inputs = times.jitter.input > 0 || (times.profile && !times.profile->inputs.empty());
  std::vector<Candidate> candidates = candidates_of(program, inputs);
  result = {};
  result.notes = notes_on(program);
  if (candidates.size() == 1) {
    return {StatusCode::invalid,
            fmt::format("{}: nothing but its own dispatch can be tried{}{}", program.name,
                        result.notes.empty() ? "" : ": ", fmt::join(result.notes, "; "))};
  }
  result.measure = options.measure;
  result.seed = times.seed;
  result.seeds = timing.draws() ? options.seeds : 2;
  Race race(microbatches, times, options, result.seeds);
  Status status = race.enter(std::move(candidates));
  if (status.ok()) status = race.choose();
  if (status.ok()) status = race.pick(result);
  if (status.ok()) race.move_trials_to(result);
  return status;
}

}  // namespace ripeline::optimise
