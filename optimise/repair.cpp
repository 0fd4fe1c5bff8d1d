// Judges the changes that optimise/changes.h proposes, nearest first.
#include "optimise/repair.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "optimise/changes.h"
#include "spec/indexing.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "verify/verdict.h"

namespace ripeline::optimise {

using spec::Program;
using verify::Obligation;
using verify::ProvedRepair;
using verify::Verdict;

namespace ast = spec::ast;

namespace {

// If a change has at most this many numbers, all are tried; otherwise only some of them.
constexpr std::int64_t kFewNumbers = 16;

class Repairer {
 public:
  Repairer(const spec::Source& source, const spec::ElaborateOptions& options,
           const ast::Pipeline& tree, const Program& program, const RepairOptions& limits)
      : source_(source), options_(options), tree_(tree), program_(program), limits_(limits) {}

  void run(const CandidateChanges& candidates, Repairs& found) {
    for (const CandidateChange& candidate : candidates.first) try_one(candidate, found.proved);
    if (found.proved.empty()) {
      for (const CandidateChange& candidate : candidates.last) try_one(candidate, found.proved);
    }
    if (!found.proved.empty() || judged_ == 0) return;
    found.note = fmt::format("No repair was proved, of {} change{} tried.", judged_,
                             judged_ == 1 ? "" : "s");
  }

 private:
  void try_one(const CandidateChange& candidate, std::vector<ProvedRepair>& found) {
    if (static_cast<int>(found.size()) >= limits_.most_repairs) return;
    if (candidate.only_alone && !found.empty()) return;
    if (!candidate.instead.empty() && settled_.count(candidate.instead) > 0) return;
    const bool peaks_say = program_.dispatch.in_order && candidate.resource >= 0;
    auto repair = peaks_say ? by_peaks(candidate) : climb(candidate);
    if (!repair) return;
    settled_.insert(candidate.instead);
    found.push_back(std::move(*repair));
  }

  // Tries numbers k; returns the proved repair with the least k among those tried.
  std::optional<ProvedRepair> climb(const CandidateChange& candidate) {
    std::int64_t too_few = 0;
    std::optional<ProvedRepair> best;
    std::int64_t k = 0;
    for (const std::int64_t next : steps_of(candidate)) {
      too_few = k;
      k = next;
      best = judge_change(candidate.change(k));
      if (best) break;
    }
    while (best && k - too_few > 1) {
      const std::int64_t middle = too_few + (k - too_few) / 2;
      if (auto better = judge_change(candidate.change(middle))) {
        best = std::move(better);
        k = middle;
      } else {
        too_few = middle;
      }
    }
    return best;
  }

  // The numbers to try until one is proved: all numbers if they are few, else powers of two.
  static std::vector<std::int64_t> steps_of(const CandidateChange& candidate) {
    std::vector<std::int64_t> steps{1};
    const bool few = candidate.most <= kFewNumbers;
    for (std::int64_t k = 2; k <= candidate.most; k = few ? k + 1 : 2 * k) steps.push_back(k);
    if (steps.back() < candidate.most) steps.push_back(candidate.most);
    for (int i = 0; i < candidate.doublings; ++i) steps.push_back(2 * steps.back());
    return steps;
  }

  // Raises the capacity to the committed order's peaks; with less, the order deadlocks. The peaks
  // do not depend on the capacity: pairs hold more if there is room, but do not need that room.
  std::optional<ProvedRepair> by_peaks(const CandidateChange& candidate) {
    Program measured = program_;
    measured.pairs.clear();
    for (spec::Pool& pool : measured.pools) {
      if (pool.resource == candidate.resource) pool.capacity.reset();
    }
    if (!may_judge(measured)) return std::nullopt;
    const Verdict verdict = verify::verify(measured, limits_.judging);
    if (verdict.outcome != verify::Outcome::proved) return std::nullopt;
    const auto& peaks = obligation(verdict, verify::ObligationKind::memory)
                            .peak.at(at(program_.resources, candidate.resource).name);
    std::int64_t most = 0;  // the most that a pool lacks
    std::size_t next = 0;
    for (const spec::Pool& pool : program_.pools) {
      if (pool.resource != candidate.resource) continue;
      const auto& peak = peaks[next++];
      if (!peak) return std::nullopt;
      most = std::max(most, peak->bound - pool.capacity.value_or(peak->bound));
    }
    return judge_change(candidate.change((most + candidate.unit - 1) / candidate.unit));
  }

  // Whether the limits allow judging one more program; if they do, the program is counted.
  bool may_judge(const Program& program) {
    if (judged_ >= limits_.most_judged || work_ >= limits_.most_work) return false;
    ++judged_;
    const std::int64_t lanes = size_of(program.lanes);
    work_ += lanes * lanes;
    return true;
  }

  std::optional<ProvedRepair> judge_change(const Change& change) {
    ast::Pipeline changed = tree_;
    change.apply(changed);
    const auto program = spec::elaborate(changed, source_, options_);
    // The changed program may be invalid, for example with an amount above its capacity.
    if (!program.ok() || !may_judge(program.value())) return std::nullopt;
    if (verify::verify(program.value(), limits_.judging).outcome != verify::Outcome::proved) {
      return std::nullopt;
    }
    return ProvedRepair{change.what, change.text, change.span, spec::print(changed)};
  }

  const spec::Source& source_;
  const spec::ElaborateOptions& options_;
  const ast::Pipeline& tree_;
  const Program& program_;
  const RepairOptions& limits_;
  std::set<std::string> settled_;
  int judged_ = 0;
  std::int64_t work_ = 0;
};

// The first obligation that is refuted by a run or, if the verdict is unknown, that is unknown.
// nullptr if there is none, or if the program has unsupported features, which no change removes.
const Obligation* to_repair(const Program& program, const Verdict& verdict) {
  if (verdict.outcome == verify::Outcome::unknown && !program.unsupported.empty()) return nullptr;
  for (const Obligation& o : verdict.obligations) {
    if (o.kind != verify::ObligationKind::deadlock && o.kind != verify::ObligationKind::memory)
      continue;
    if (o.outcome != verdict.outcome || o.outcome == verify::Outcome::proved) continue;
    if (o.outcome == verify::Outcome::unknown || o.counterexample) return &o;
  }
  return nullptr;
}

}  // namespace

Repairs find_repairs(const spec::Source& source, const spec::ElaborateOptions& options,
                     const Program& program, const Verdict& verdict, const RepairOptions& limits) {
  Repairs found;
  const Obligation* open = to_repair(program, verdict);
  if (open == nullptr) return found;
  found.obligation = open->kind;
  const bool cuts =
      program.dispatch.in_order && program.microbatches.max != program.microbatches.min;
  const int most = cuts ? limits.most_lanes_in_order : limits.most_lanes;
  if (size_of(program.lanes) > most) {
    found.note = fmt::format("No repair was searched: the program has {} lanes, more than {}.",
                             program.lanes.size(), most);
    return found;
  }
  const auto parsed = spec::parse(source);
  if (!parsed.ok()) return found;
  const ast::Pipeline tree = spec::narrowed(parsed.value(), options);
  Repairer(source, options, tree, program, limits).run(candidates_for(tree, program, *open), found);
  return found;
}

void add_repairs(Verdict& verdict, Repairs repairs) {
  for (Obligation& o : verdict.obligations) {
    if (o.kind != repairs.obligation) continue;
    o.repairs = std::move(repairs.proved);
    o.repairs_note = std::move(repairs.note);
    return;
  }
}

}  // namespace ripeline::optimise
