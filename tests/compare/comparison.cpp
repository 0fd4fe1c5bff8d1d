#include "tests/compare/comparison.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "tests/compare/lockstep.h"
#include "tests/oracle/oracle.h"

namespace ripeline::compare {
namespace {

using oracle::Answer;
using oracle::Choices;
using spec::Program;
using verify::Counterexample;
using verify::Obligation;
using verify::Outcome;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The answers of the oracle, for the counts that it could visit completely.
struct Truth {
  bool whole_range = true;  // each count in range was visited
  bool sticks_any = false;
  int sticks_dispatch = 0;  // the least count at which the dispatch sticks, or 0
  std::map<int, Answer> dispatch;
  std::vector<std::int64_t> peaks_any;
};

Truth truth_of(const Program& program, const Options& options) {
  const int most = std::max(1, options.most_tasks / static_cast<int>(program.lanes.size()));
  Truth truth;
  truth.peaks_any.assign(program.pools.size(), 0);
  truth.whole_range = program.microbatches.max && *program.microbatches.max <= most;
  const int last = std::min(program.microbatches.max.value_or(most), most);
  for (int m = program.microbatches.min; m <= last; ++m) {
    const Answer any = oracle::explore(program, m, Choices::any, options.most_states);
    if (!any.complete) {
      truth.whole_range = false;
      break;
    }
    // A committed order leaves the dispatch no choice, so it has the same answer as any choice.
    const Answer dispatch =
        program.dispatch.in_order
            ? any
            : oracle::explore(program, m, Choices::dispatch, options.most_states);
    if (!dispatch.complete) {
      truth.whole_range = false;
      break;
    }
    truth.sticks_any = truth.sticks_any || any.sticks;
    if (dispatch.sticks && truth.sticks_dispatch == 0) truth.sticks_dispatch = m;
    truth.dispatch.emplace(m, dispatch);
    for (std::size_t p = 0; p < any.peaks.size(); ++p) {
      truth.peaks_any[p] = std::max(truth.peaks_any[p], any.peaks[p]);
    }
  }
  return truth;
}

class Comparer {
 public:
  Comparer(const Program& program, const Options& options, Comparison& result)
      : program_(program), options_(options), result_(result) {}

  void go() {
    auto start = std::chrono::steady_clock::now();
    truth_ = truth_of(program_, options_);
    result_.visited = truth_.whole_range;
    result_.seconds.oracle = seconds_since(start);
    start = std::chrono::steady_clock::now();
    const bool real = !options_.faulty_judge_for_testing;
    verify::Verdict verdict = real ? verify::verify(program_, options_.verify)
                                   : options_.faulty_judge_for_testing(program_, options_.verify);
    if (real && options_.again && found(verdict.obligations.front()) == Found::open) {
      verdict = verify::verify(program_, *options_.again);
    }
    result_.seconds.verify = seconds_since(start);
    check(verdict.obligations.size() == 5, "there are not five obligations");
    if (!result_.wrong.empty()) return;
    check(!real || verdict.proved.has_value() == (verdict.outcome == Outcome::proved),
          "a ProvedProgram without a proof, or a proof without one");
    result_.found = found(obligation(verdict, verify::ObligationKind::deadlock));
    for (const Obligation& o : verdict.obligations) {
      if (o.outcome != Outcome::unknown || o.reason.find("Not asked") != std::string::npos)
        continue;
      result_.reason += fmt::format("{}: {} ", verify::name_of(o.kind), o.reason);
    }
    // The oracle does not support several members per rank.
    members_ = program_.tensor_parallel.members;
    compare_deadlock(obligation(verdict, verify::ObligationKind::deadlock));
    if (members_ == 1 && result_.found != Found::unsupported) {
      check(obligation(verdict, verify::ObligationKind::collectives).outcome == Outcome::proved,
            "collectives of one are in order");
    }
    compare_memory(obligation(verdict, verify::ObligationKind::memory));
    compare_assertion(obligation(verdict, verify::ObligationKind::memory));
    compare_once(obligation(verdict, verify::ObligationKind::once));
  }

 private:
  void check(bool holds, const std::string& what) {
    if (!holds) result_.wrong.push_back(what);
  }

  static Found found(const Obligation& deadlock) {
    if (deadlock.outcome == Outcome::proved) return Found::proved;
    if (deadlock.outcome == Outcome::refuted) return Found::refuted;
    if (deadlock.reason.find("not supported by verify yet") != std::string::npos) {
      return Found::unsupported;
    }
    if (deadlock.reason.find("Not asked") != std::string::npos) return Found::not_asked;
    return deadlock.other_choices ? Found::through_hint : Found::open;
  }

  // Replays the run in Machine and in the oracle; returns whether the run ends in a stuck state.
  bool replays(const std::string& name, const Counterexample& run, Choices choices) {
    const auto chooser =
        choices == Choices::any ? spec::Machine::Chooser::any : spec::Machine::Chooser::dispatch;
    check(program_.microbatches.contains(run.microbatches), name + ": a count out of range");
    const spec::Machine machine(program_, run.microbatches);
    spec::Machine::State state = machine.initial();
    for (const spec::Event& event : run.events) {
      if (!machine.is_enabled(state, event, chooser)) {
        check(false, name + ": the run does not replay at " + machine.describe(event));
        return false;
      }
      machine.step(state, event);
    }
    held_ = state.held;
    const Replay said = replay(program_, run.microbatches, choices, run.events);
    check(!said.fits || said.objection.empty(), name + ": the oracle " + said.objection);
    check(!said.fits || said.held == state.held, name + ": the oracle holds other room");
    check(!said.fits || said.sticks == machine.stuck(state),
          name + ": the oracle does not agree on whether the run sticks");
    return machine.stuck(state);
  }

  void compare_deadlock(const Obligation& deadlock) {
    if (deadlock.outcome == Outcome::proved) {
      check(!truth_.sticks_any, "deadlock: proved, but it can stick");
    } else if (members_ > 1) {
      return;
    } else if (deadlock.outcome == Outcome::refuted) {
      check(deadlock.counterexample.has_value(), "deadlock: refuted without a run");
      if (deadlock.counterexample) compare_refutation(*deadlock.counterexample);
    } else if (result_.found == Found::open) {
      result_.missed = truth_.sticks_dispatch > 0 || (truth_.whole_range && !truth_.sticks_any);
    } else if (result_.found == Found::through_hint) {
      check(replays("deadlock, other choices", *deadlock.other_choices, Choices::any),
            "deadlock: the run of other choices does not stick");
      result_.missed = truth_.sticks_dispatch > 0;
    }
  }

  void compare_refutation(const Counterexample& run) {
    check(replays("deadlock", run, Choices::dispatch), "deadlock: the run does not stick");
    const auto visited = truth_.dispatch.find(run.microbatches);
    check(visited == truth_.dispatch.end() || visited->second.sticks,
          fmt::format("deadlock: refuted, but it cannot stick with {}", run.microbatches));
    check(!run.fewest || truth_.sticks_dispatch == 0 || run.microbatches == truth_.sticks_dispatch,
          fmt::format("deadlock: the fewest is {}, not {}", truth_.sticks_dispatch,
                      run.microbatches));
    check(!truth_.whole_range || truth_.sticks_dispatch > 0, "deadlock: refuted, but it is safe");
  }

  void compare_memory(const Obligation& memory) {
    if (memory.outcome != Outcome::proved) return;
    std::vector<std::size_t> next(program_.resources.size(), 0);
    for (std::size_t p = 0; p < program_.pools.size(); ++p) {
      const auto resource = static_cast<std::size_t>(program_.pools[p].resource);
      const auto& proved = memory.peak.at(program_.resources[resource].name)[next[resource]++];
      if (!proved) continue;
      const std::string said = fmt::format(
          "memory: {} peaks at {}, proved {}{}", program_.pool_name(static_cast<int>(p)),
          truth_.peaks_any[p], proved->reached ? "" : "at most ", proved->bound);
      check(truth_.peaks_any[p] <= proved->bound, said);
      const bool loose = truth_.whole_range && truth_.peaks_any[p] < proved->bound;
      check(!loose || !proved->reached, said);
      result_.loose += loose ? 1 : 0;
      result_.at_most += proved->reached ? 0 : 1;
    }
  }

  // The largest amount that any pool of the asserted resource holds.
  std::int64_t most_held(const std::vector<std::int64_t>& peaks) const {
    std::int64_t most = 0;
    for (std::size_t p = 0; p < program_.pools.size(); ++p) {
      if (program_.pools[p].resource != program_.assertions.front().resource) continue;
      most = std::max(most, peaks[p]);
    }
    return most;
  }

  void compare_assertion(const Obligation& memory) {
    if (program_.assertions.empty()) return;
    const std::int64_t bound = program_.assertions.front().bound.value.numerator;
    if (memory.outcome == Outcome::proved) {
      check(most_held(truth_.peaks_any) <= bound, "memory: an assertion is proved, but may fail");
    } else if (memory.outcome == Outcome::refuted && members_ == 1) {
      check(memory.counterexample.has_value(), "memory: refuted without a run");
      if (!memory.counterexample) return;
      replays("memory", *memory.counterexample, Choices::dispatch);
      check(most_held(held_) > bound, "memory: the run does not break the assertion");
    } else if (members_ == 1 && truth_.whole_range &&
               memory.reason.find("Not asked") == std::string::npos &&
               (result_.found == Found::proved || result_.found == Found::refuted)) {
      bool breaks = false;
      for (const auto& [m, answer] : truth_.dispatch) {
        breaks = breaks || most_held(answer.peaks) > bound;
      }
      result_.missed = result_.missed || breaks || most_held(truth_.peaks_any) <= bound;
    }
  }

  void compare_once(const Obligation& once) {
    if (result_.found == Found::unsupported) return;
    if (!program_.dispatch.in_order) {
      check(once.outcome == Outcome::proved, "once: of no order, it holds");
      return;
    }
    bool all = true;
    for (const auto& [m, answer] : truth_.dispatch) {
      all = all && oracle::lists_each_task_once(program_, m);
    }
    check(once.outcome != Outcome::proved || all, "once: proved, but a list is wrong");
    if (once.outcome == Outcome::refuted) {
      check(once.counterexample &&
                !oracle::lists_each_task_once(program_, once.counterexample->microbatches),
            "once: refuted, but the lists are right");
    }
    result_.missed = result_.missed || once.outcome == Outcome::unknown;
  }

  const Program& program_;
  const Options& options_;
  Comparison& result_;
  Truth truth_;
  int members_ = 1;
  std::vector<std::int64_t> held_;  // at the end of the last run replayed
};

}  // namespace

Comparison compare(std::uint64_t seed, const Options& options) {
  Comparison result;
  result.text = testing_support::random_program_text(seed, options.programs);
  const auto program = spec::compile({"random.ripe", result.text});
  if (!program.ok()) {
    result.wrong.push_back("it does not compile: " +
                           spec::render({"random.ripe", result.text}, program.errors()));
    return result;
  }
  for (const spec::Unsupported& feature : spec::features_of(program.value())) {
    result.features.push_back(feature.construct);
  }
  if (result.features.empty()) result.features.emplace_back("none");
  for (const spec::Stage& stage : program.value().stages) {
    result.join = result.join || stage.prev.size() > 1;
  }
  Comparer(program.value(), options, result).go();
  return result;
}

}  // namespace ripeline::compare
