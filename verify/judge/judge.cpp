#include "verify/judge/judge.h"

#include <chrono>
#include <functional>

#include "spec/indexing.h"
#include "spec/long_work.h"
#include "verify/judge/assumptions.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {
namespace {

void settle(Obligation& o, const std::function<Finding()>& find) {
  spec::part_begins(name_of(o.kind));
  const auto start = std::chrono::steady_clock::now();
  Finding found = find();
  o.outcome = found.outcome;
  o.method = found.method;
  o.reason = std::move(found.reason);
  o.span = found.span;
  o.counterexample = std::move(found.counterexample);
  o.other_choices = std::move(found.other_choices);
  o.counts = std::move(found.counts);
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Outcome worst_of(const std::vector<Obligation>& obligations) {
  Outcome outcome = Outcome::proved;
  for (const Obligation& o : obligations) {
    if (o.outcome == Outcome::refuted) return Outcome::refuted;
    if (o.outcome == Outcome::unknown) outcome = Outcome::unknown;
  }
  return outcome;
}

}  // namespace

Finding by_structure() { return {.outcome = Outcome::proved, .method = Method::structure}; }

Finding not_known(const spec::Diagnostic& why) {
  return {.reason = why.message + ".", .span = why.span};
}

Finding Judge::messages(Outcome once) {
  if (once == Outcome::proved) return by_structure();
  return {.reason = "Not known, since it is not known that each task runs once."};
}

Verdict judged_by(Judge& judge, const spec::Program& program, const PeaksOf& peaks_of) {
  Verdict verdict = open_verdict();
  verdict.assumptions = assumptions_of(program);
  const auto of = [&](ObligationKind kind) -> Obligation& { return obligation(verdict, kind); };
  settle(of(ObligationKind::once), [&] { return judge.once(); });
  settle(of(ObligationKind::collectives), [&] { return judge.collectives(); });
  settle(of(ObligationKind::deadlock), [&] { return judge.deadlock(); });
  std::vector<std::optional<Peak>> peaks;
  settle(of(ObligationKind::memory), [&] {
    const MemoryFinding memory = judge.memory();
    if (peaks_of && memory.finding.outcome == Outcome::proved) peaks = peaks_of(memory);
    return memory.finding;
  });
  for (std::size_t p = 0; p < peaks.size(); ++p) {
    const auto& resource = at(program.resources, program.pools[p].resource);
    of(ObligationKind::memory).peak[resource.name].push_back(peaks[p]);
  }
  settle(of(ObligationKind::messages),
         [&] { return judge.messages(of(ObligationKind::once).outcome); });
  verdict.outcome = worst_of(verdict.obligations);
  return verdict;
}

std::string not_supported(const std::vector<spec::Unsupported>& constructs) {
  std::string names;
  for (const spec::Unsupported& u : constructs) {
    const std::string quoted = "`" + u.construct + "`";
    if (names.find(quoted) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + quoted;
  }
  const bool several = names.find(',') != std::string::npos;
  return names + (several ? " are" : " is") + " not supported by verify yet.";
}

}  // namespace ripeline::verify
