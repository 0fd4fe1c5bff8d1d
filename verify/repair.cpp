// Judges the changes of repair_changes.cpp, nearest first.
#include "verify/repair.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "spec/parse.h"
#include "spec/print.h"
#include "verify/internal.h"
#include "verify/repair_changes.h"

namespace ripeline::verify {

using spec::Program;
namespace ast = spec::ast;

namespace {

class Repairer {
 public:
  Repairer(const spec::Source& source, const spec::ElaborateOptions& options,
           const ast::Pipeline& tree, const RepairOptions& limits)
      : source_(source), options_(options), tree_(tree), limits_(limits) {}

  void run(const Candidates& candidates, Repairs& found) {
    for (const Candidate& candidate : candidates.first) try_one(candidate, found.proved);
    if (found.proved.empty()) {
      for (const Candidate& candidate : candidates.last) try_one(candidate, found.proved);
    }
    if (!found.proved.empty() || judged_ == 0) return;
    found.note = fmt::format("No repair was proved, of {} change{} tried.", judged_,
                             judged_ == 1 ? "" : "s");
  }

 private:
  void try_one(const Candidate& candidate, std::vector<ProvedRepair>& found) {
    if (static_cast<int>(found.size()) >= limits_.most_repairs) return;
    if (candidate.only_alone && !found.empty()) return;
    if (!candidate.instead.empty() && settled_.count(candidate.instead) > 0) return;
    auto repair = climb(candidate);
    if (!repair) return;
    settled_.insert(candidate.instead);
    found.push_back(std::move(*repair));
  }

  // The least k that is proved, of those tried.
  std::optional<ProvedRepair> climb(const Candidate& candidate) {
    std::int64_t too_few = 0;
    std::int64_t k = 1;
    std::optional<ProvedRepair> best = judge_change(candidate.change(k));
    for (int i = 0; !best && i < candidate.doublings; ++i) {
      too_few = k;
      k *= 2;
      best = judge_change(candidate.change(k));
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

  std::optional<ProvedRepair> judge_change(const Change& change) {
    if (judged_ >= limits_.most_judged) return std::nullopt;
    ast::Pipeline changed = tree_;
    change.apply(changed);
    const auto program = spec::elaborate(changed, source_, options_);
    if (!program.ok()) return std::nullopt;  // such as capacities above what is allowed
    ++judged_;
    if (judge(program.value(), limits_.judging, Fault::none).outcome != Outcome::proved) {
      return std::nullopt;
    }
    return ProvedRepair{change.what, change.text, change.span, spec::print(changed)};
  }

  const spec::Source& source_;
  const spec::ElaborateOptions& options_;
  const ast::Pipeline& tree_;
  const RepairOptions& limits_;
  std::set<std::string> settled_;
  int judged_ = 0;
};

const Obligation* to_repair(const Verdict& verdict) {
  for (const Obligation& o : verdict.obligations) {
    const bool has_run = o.outcome == Outcome::refuted && o.counterexample;
    if (has_run && (o.name == "deadlock" || o.name == "memory")) return &o;
  }
  return nullptr;
}

}  // namespace

Repairs find_repairs(const spec::Source& source, const spec::ElaborateOptions& options,
                     const Program& program, const Verdict& verdict, const RepairOptions& limits) {
  Repairs found;
  const Obligation* refuted = to_repair(verdict);
  if (refuted == nullptr) return found;
  found.obligation = refuted->name;
  if (size_of(program.lanes) > limits.most_lanes) {
    found.note = fmt::format("No repair was searched: the program has {} lanes, more than {}.",
                             program.lanes.size(), limits.most_lanes);
    return found;
  }
  const auto tree = spec::parse(source);
  if (!tree.ok()) return found;
  Repairer(source, options, tree.value(), limits)
      .run(candidates_for(tree.value(), program, *refuted), found);
  return found;
}

void add_repairs(Verdict& verdict, Repairs repairs) {
  for (Obligation& o : verdict.obligations) {
    if (o.name != repairs.obligation) continue;
    o.repairs = std::move(repairs.proved);
    o.repairs_note = std::move(repairs.note);
    return;
  }
}

}  // namespace ripeline::verify
