// Finds the fewest credits that make an order of sends and receives safe.
//
// The candidate is the choice with the least sum that meets all clauses; the graph judges it. If it
// deadlocks, the cycle gives a clause: one of the channels whose sends wait in the cycle must have
// more credits than in the candidate, since otherwise the same waits remain (a channel's receives
// are posted in order). So safe choices meet all clauses, and a safe candidate has the least sum.
#include "wire/least_sends.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "verify/solver/solver.h"
#include "verify/verdict.h"
#include "verify/verify.h"
#include "wire/counts.h"
#include "wire/layouts.h"

namespace ripeline::wire {
namespace {

using spec::Program;
using verify::Term;

constexpr int kMostClauses = 2'000;

class LeastCredits {
 public:
  LeastCredits(std::vector<WireProgram> wires, const verify::VerifyOptions& options)
      : wires_(std::move(wires)), solver_(options.solver_steps) {}

  void run(LeastSends& found) {
    if (!find_uniform(found) || !find_sum(found)) return;
    found.outcome = verify::Outcome::proved;
    for (const auto& [channel, credits] : candidate_) {
      if (credits > 0) found.credits[channel] = credits;
    }
  }

 private:
  // The verdict on the largest count that is not safe; mostly, large counts are unsafe.
  WireVerdict judge(const WireOptions& options) const {
    for (auto wire = wires_.rbegin(); wire != wires_.rend(); ++wire) {
      WireVerdict verdict = judge_wire(*wire, options);
      if (verdict.kind != WireVerdict::Kind::safe) return verdict;
    }
    return {.kind = WireVerdict::Kind::safe};
  }

  // More credits never make an order unsafe, so bisection finds the least number.
  bool find_uniform(LeastSends& found) const {
    std::int64_t enough = 0;
    for (const auto& rank : wires_.back().ranks) {
      enough = std::max(enough, static_cast<std::int64_t>(rank.size()));
    }
    const WireVerdict most = judge({.credits = enough});
    if (most.kind != WireVerdict::Kind::safe) {
      found.outcome = verify::Outcome::refuted;
      found.reason = "No number of credits suffices. " + most.sentence;
      return false;
    }
    std::int64_t too_few = -1;
    while (enough - too_few > 1) {
      const std::int64_t middle = too_few + (enough - too_few) / 2;
      (judge({.credits = middle}).kind == WireVerdict::Kind::safe ? enough : too_few) = middle;
    }
    found.uniform = enough;
    return true;
  }

  bool find_sum(LeastSends& found) {
    for (int clauses = 0; clauses < kMostClauses; ++clauses) {
      const WireVerdict verdict = judge({.channel_credits = candidate_});
      if (verdict.kind == WireVerdict::Kind::safe) return true;
      if (verdict.kind != WireVerdict::Kind::deadlock || !add_clause(verdict)) {
        found.reason = "A deadlock's cycle could not be read.";
        return false;
      }
      if (!next_candidate(found)) return false;
    }
    found.reason = fmt::format("Not known after {} deadlocks.", kMostClauses);
    return false;
  }

  bool add_clause(const WireVerdict& verdict) {
    std::vector<Term> one_more;
    std::vector<Term> all;
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    std::set<WireChannel> seen;
    for (const WireWait& wait : verdict.cycle) {
      const WireChannel channel{wait.waiting.rank, wait.on.rank};
      if (wait.why != WireWait::Why::posted || !seen.insert(channel).second) continue;
      if (terms_.count(channel) == 0) {
        const Term credits =
            solver_.integer(fmt::format("credits_{}_{}", channel.first, channel.second));
        solver_.require(solver_.number(0) <= credits);
        terms_.emplace(channel, credits);
        candidate_.emplace(channel, 0);
      }
      one_more.push_back(solver_.number(candidate_[channel] + 1) <= terms_.at(channel));
      all.push_back(terms_.at(channel));
      fewest = std::min(fewest, candidate_[channel] + 1);
    }
    if (one_more.empty()) return false;
    solver_.require(solver_.any_of(one_more));
    // The clause implies this bound, which makes sums easy; if no channel has credits, both agree.
    solver_.require(solver_.number(fewest) <= solver_.sum(all));
    return true;
  }

  // Sums below `found.sum` are impossible, since clauses are only added.
  bool next_candidate(LeastSends& found) {
    std::vector<Term> all;
    for (const auto& [channel, term] : terms_) all.push_back(term);
    for (;; ++found.sum) {
      const verify::Answer answer = solver_.check(fmt::format("credits: a sum of {}", found.sum),
                                                  {solver_.sum(all) <= solver_.number(found.sum)});
      if (answer == verify::Answer::sat) break;
      if (answer == verify::Answer::unknown) {
        found.reason = "The solver gave up within its steps.";
        return false;
      }
    }
    for (auto& [channel, credits] : candidate_) credits = solver_.value(terms_.at(channel));
    return true;
  }

  std::vector<WireProgram> wires_;  // per microbatch count
  verify::Solver solver_;
  std::map<WireChannel, Term> terms_;              // channels that some clause names
  std::map<WireChannel, std::int64_t> candidate_;  // other channels have no credits
};

}  // namespace

LeastSends least_sends(const Program& program, const verify::VerifyOptions& options) {
  LeastSends found;
  const JudgedCounts judged = wire_counts(program);
  found.counts = judged.counts;
  if (judged.problem) {
    found.reason = *judged.problem;
    return found;
  }
  std::vector<WireProgram> wires;
  for (int m = found.counts.min; m <= found.counts.max; ++m) {
    wires.push_back(wire_program(program, m, WireStreams::one));
  }
  LeastCredits(std::move(wires), options).run(found);
  return found;
}

}  // namespace ripeline::wire
