#include "validate/run_check.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace ripeline::validate {
namespace {

using core::Time;
using spec::Machine;
using Do = spec::Event::Do;

std::string text_of(const std::string& name, int ranks, int stages, std::uint64_t hash) {
  return fmt::format("{} of {} ranks and {} stages, hash {}", name, ranks, stages,
                     spec::hash_text(hash));
}

// True if lanes and edges have the same numbers in both, since events refer to them by number.
bool same_tables(const spec::Program& program, const core::ProgramFacts& facts) {
  const auto same_lane = [](const spec::Lane& a, const core::LaneFacts& b) {
    return a.op == b.op && a.stage == b.stage && a.rank == b.rank && a.engine == b.engine &&
           a.once == b.once && a.share == b.share;
  };
  const auto same_edge = [](const spec::Edge& a, const core::EdgeFacts& b) {
    return a.producer == b.producer && a.consumer == b.consumer && a.of == b.of;
  };
  return std::equal(program.lanes.begin(), program.lanes.end(), facts.lanes.begin(),
                    facts.lanes.end(), same_lane) &&
         std::equal(program.edges.begin(), program.edges.end(), facts.edges.begin(),
                    facts.edges.end(), same_edge) &&
         program.pools.size() == facts.pools.size();
}

std::optional<std::string> why_not_expanded(const spec::Program& program, int count) {
  const int order = program.dispatch.binding();
  for (int rank = 0; order >= 0 && rank < program.ranks; ++rank) {
    const auto tasks = spec::expand(program, at(program.orders, order), rank, count);
    if (!tasks.ok()) return tasks.errors().front().message;
  }
  return std::nullopt;
}

// Checks a trace step by step.
class Check {
 public:
  Check(const spec::Program& program, const trace::File& file, bool ended)
      : program_(program),
        facts_(file.about.facts()),
        most_(file.about.run.microbatches),
        ended_(ended),
        steps_(steps_of(program, file.record)),
        last_step_(static_cast<std::size_t>(program.ranks),
                   std::numeric_limits<std::int64_t>::min()),
        last_end_(static_cast<std::size_t>(program.ranks), Time::min()) {
    out_.peaks.assign(program.pools.size(), 0);
    for (const auto& [step, events] : steps_) {
      for (std::size_t rank = 0; rank < events.ranks.size(); ++rank) {
        if (!events.ranks[rank].empty()) last_step_[rank] = step;
      }
    }
  }

  RunCheck check() {
    for (const auto& [step, events] : steps_) {
      if (!follows(step, events) || !check(step, events)) {
        out_.outcome = RunOutcome::refuted;
        return std::move(out_);
      }
    }
    if (!within_bounds()) {
      out_.outcome = RunOutcome::refuted;
    } else if (steps_.empty()) {
      out_.reason = "There is no event in the trace.";
    } else if (!has_most_) {
      out_.reason = fmt::format(
          "The trace says {} microbatches, and no step has so many: what a microbatch did may be "
          "missing.",
          most_);
    } else {
      conclude();
    }
    return std::move(out_);
  }

 private:
  bool wrong(std::int64_t step, std::string what) {
    out_.wrong = {.step = step, .what = std::move(what)};
    return false;
  }

  // Checks that no step is missing, and that each rank ends a step before it starts the next.
  bool follows(std::int64_t step, const StepEvents& events) {
    if (step != steps_.begin()->first && !steps_.contains(step - 1)) {
      return wrong(step, fmt::format("There is no step {} in the trace.", step - 1));
    }
    for (std::size_t rank = 0; rank < events.ranks.size(); ++rank) {
      const Time before = last_end_[rank];
      for (const RankEvent& e : events.ranks[rank]) {
        if (e.event.what == Do::end) last_end_[rank] = std::max(last_end_[rank], e.at);
        if (e.event.what != Do::start || e.at >= before) continue;
        return wrong(step, fmt::format("Rank {} starts {} before it has ended all of step {}.",
                                       rank, name_of(e.event), step - 1));
      }
    }
    return true;
  }

  bool check(std::int64_t step, const StepEvents& events) {
    const std::optional<int> fewer = fewer_in(step, events);
    // A stuck step may look like a complete step with fewer microbatches, so a replay decides.
    if (fewer && is_whole(*fewer, events)) {
      ++out_.fewer;
      return true;
    }
    const Machine& machine = machine_of(most_);
    const std::vector<bool> cut_off = cut_off_in(step, events);
    const bool is_cut_off = std::find(cut_off.begin(), cut_off.end(), true) != cut_off.end();
    StepCheck lead(machine, events, cut_off);
    lead.lead();
    note_peaks(lead);
    has_most_ = true;
    std::vector<Blocked> blocked = lead.blocked();
    // If steps differ in their numbers of microbatches, the number of a cut-off step is not known.
    if (!blocked.empty() && !(is_cut_off && out_.fewer > 0)) {
      std::size_t all = 0;
      for (const auto& rank : events.ranks) all += rank.size();
      out_.wrong = {
          .step = step, .led = lead.led().size(), .all = all, .blocked = std::move(blocked)};
      return false;
    }
    if (machine.done(lead.state())) {
      ++out_.steps;
      return true;
    }
    if (!is_cut_off) {
      return wrong(step, fmt::format("{} does not run, and later steps do.", missing(lead)));
    }
    if (!first_open_) first_open_ = step;
    is_assumed_ = is_assumed_ || lead.assumed() > 0 || !blocked.empty();
    if (!is_assumed_ && machine.stuck(lead.state())) stuck_ = step;
    if (missing_.empty()) missing_ = missing(lead);
    return true;
  }

  // Whether the step can be replayed completely with `count` microbatches.
  bool is_whole(int count, const StepEvents& events) {
    const Machine& machine = machine_of(count);
    StepCheck lead(machine, events, std::vector<bool>(events.ranks.size(), false));
    lead.lead();
    if (!lead.blocked().empty() || !machine.done(lead.state())) return false;
    note_peaks(lead);
    ++out_.steps;
    return true;
  }

  void note_peaks(const StepCheck& lead) {
    for (std::size_t pool = 0; pool < out_.peaks.size(); ++pool) {
      out_.peaks[pool] = std::max(out_.peaks[pool], lead.peaks()[pool]);
    }
  }

  std::size_t tasks_of(int first_lane, int end, int count) const {
    std::size_t all = 0;
    for (int lane = first_lane; lane < end; ++lane) {
      all += static_cast<std::size_t>(program_.tasks_of(lane, count));
    }
    return all;
  }

  // For a step that looks complete with fewer microbatches than the largest: their number, by its
  // tasks; otherwise nullopt. The trace gives the number of the largest step.
  std::optional<int> fewer_in(std::int64_t step, const StepEvents& events) const {
    if (!ended_ && step == steps_.rbegin()->first) return std::nullopt;
    std::set<std::pair<int, int>> tasks;
    int count = 0;
    for (const auto& rank : events.ranks) {
      for (const RankEvent& e : rank) {
        if (e.event.what != Do::start) continue;
        tasks.insert({e.event.lane, e.event.microbatch});
        count = std::max(count, program_.microbatch_of(e.event.lane, e.event.microbatch) + 1);
      }
    }
    const int lanes = size_of(program_.lanes);
    const bool fits = tasks.size() != tasks_of(0, lanes, most_) && count < most_ &&
                      program_.microbatches.contains(count) &&
                      tasks.size() == tasks_of(0, lanes, count);
    if (!fits || why_not_expanded(program_, count)) return std::nullopt;
    return count;
  }

  const Machine& machine_of(int count) {
    std::unique_ptr<Machine>& machine = machines_[count];
    if (!machine) machine = std::make_unique<Machine>(program_, count);
    return *machine;
  }

  // By rank: true if the trace lacks a part of the rank's step and has no later step of the rank.
  std::vector<bool> cut_off_in(std::int64_t step, const StepEvents& events) const {
    std::vector<bool> cut_off;
    for (int rank = 0; rank < program_.ranks; ++rank) {
      std::set<std::pair<int, int>> ended;
      for (const RankEvent& e : at(events.ranks, rank)) {
        if (e.event.what == Do::end) ended.insert({e.event.lane, e.event.microbatch});
      }
      const std::size_t all =
          tasks_of(program_.first_lane(rank), program_.first_lane(rank + 1), most_);
      cut_off.push_back(at(last_step_, rank) <= step && ended.size() < all);
    }
    return cut_off;
  }

  [[nodiscard]] std::string name_of(const spec::Event& event) const {
    return program_.task_name(event.lane, event.microbatch);
  }

  // The first task that is missing, such as `2B7 of rank 2`.
  std::string missing(const StepCheck& lead) const {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      for (int m = 0; m < program_.tasks_of(lane, most_); ++m) {
        const auto task = static_cast<std::size_t>(lane) * static_cast<std::size_t>(most_) +
                          static_cast<std::size_t>(m);
        if (lead.state().tasks[task] == Machine::TaskState::ended) continue;
        return fmt::format("{} of rank {}", program_.task_name(lane, m),
                           at(program_.lanes, lane).rank);
      }
    }
    return {};
  }

  // The machine checks capacities. The bounds of a proof may be lower, so they are checked here.
  bool within_bounds() {
    for (std::size_t pool = 0; pool < out_.peaks.size(); ++pool) {
      const std::int64_t bound = facts_.pools[pool].bound;
      if (bound < 0 || out_.peaks[pool] <= bound) continue;
      return wrong(steps_.begin()->first, fmt::format("{} held {} at once, above the proved {}.",
                                                      program_.pool_name(static_cast<int>(pool)),
                                                      out_.peaks[pool], bound));
    }
    return true;
  }

  void conclude() {
    if (!first_open_) {
      out_.outcome = RunOutcome::run;
      return;
    }
    if (stuck_) {
      out_.reason = fmt::format("Step {} deadlocked: where it ends no task may start.", *stuck_);
    } else if (is_assumed_) {
      out_.reason = fmt::format(
          "From step {} on the trace is cut off; some of what it has there follows from what is "
          "missing, {} first.",
          *first_open_, missing_);
    } else if (ended_) {
      out_.reason = fmt::format("Step {} is cut off, or deadlocked: {} does not run.", *first_open_,
                                missing_);
    } else {
      out_.reason = fmt::format("Step {} is cut off: {} is missing.", *first_open_, missing_);
      out_.outcome = RunOutcome::beginning;
    }
  }

  const spec::Program& program_;
  const core::ProgramFacts& facts_;
  int most_;  // microbatches of the largest step
  bool ended_;
  std::map<std::int64_t, StepEvents> steps_;
  std::vector<std::int64_t> last_step_;  // by rank: the last step that has an event
  std::vector<Time> last_end_;           // by rank: the last end so far
  std::map<int, std::unique_ptr<Machine>> machines_;
  bool has_most_ = false;                   // some step was replayed with `most_`
  std::optional<std::int64_t> first_open_;  // the first step that is not complete
  std::optional<std::int64_t> stuck_;
  bool is_assumed_ = false;
  std::string missing_;  // the first task that step first_open_ lacks
  RunCheck out_;
};

std::vector<std::string> assumptions_of(const spec::Program& program) {
  std::vector<std::string> said = {
      "The trace has what happened, each event once; times of a rank are of one clock.",
      "Credits, grants and announcements are not in a trace, nor what messages contain.",
  };
  if (program.tensor_parallel.members > 1 || program.data_parallel.replicas > 1) {
    said.push_back(
        "The trace is that of member 0 of replica 0: what the others did, and what all agreed on, "
        "is not in it.");
  }
  said.push_back("Whether the program itself is proved is what `ripeline verify` says.");
  return said;
}

}  // namespace

std::optional<std::string> why_not_of(const spec::Program& program, const trace::About& about) {
  const core::ProgramFacts& facts = about.facts();
  if (facts.hash != program.hash) {
    const bool same = facts.name == program.name && facts.ranks == program.ranks;
    return fmt::format("the trace is of {}, and the program is {}: {}",
                       text_of(std::string(facts.name), facts.ranks, facts.stages, facts.hash),
                       text_of(program.name, program.ranks, size_of(program.stages), program.hash),
                       same
                           ? "another text, other parameters (-D), or another dispatch (--dispatch)"
                           : "give the one that ran, with its parameters (-D)");
  }
  if (!program.unsupported.empty()) {
    return program.unsupported.front().construct + " is not supported yet";
  }
  if (!same_tables(program, facts)) {
    return "the tables of the trace are not those of the program, though the hash is";
  }
  if (about.part) {
    return fmt::format(
        "this is the part of rank {} alone: give the folder that has the parts of all",
        about.part->rank);
  }
  const int count = about.run.microbatches;
  if (!program.microbatches.contains(count)) {
    return fmt::format("the trace is of {} microbatches, which are outside the program's range",
                       count);
  }
  return why_not_expanded(program, count);
}

RunCheck check_run(const spec::Program& program, const trace::File& file, bool ended) {
  RunCheck check = Check(program, file, ended).check();
  check.assumptions = assumptions_of(program);
  return check;
}

}  // namespace ripeline::validate
