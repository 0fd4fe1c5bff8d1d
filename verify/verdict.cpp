#include "verify/verdict.h"

#include "verify/solver/solver.h"

namespace ripeline::verify {

std::string name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::proved:
      return "proved";
    case Outcome::refuted:
      return "refuted";
    case Outcome::unknown:
      break;
  }
  return "unknown";
}

Verdict open_verdict() {
  Verdict verdict;
  for (const ObligationKind kind : kObligationKinds) {
    verdict.obligations.emplace_back().kind = kind;
  }
  verdict.solver = Solver::version();
  return verdict;
}

const Obligation& obligation(const Verdict& verdict, ObligationKind kind) {
  return verdict.obligations[static_cast<std::size_t>(kind)];
}

Obligation& obligation(Verdict& verdict, ObligationKind kind) {
  return verdict.obligations[static_cast<std::size_t>(kind)];
}

}  // namespace ripeline::verify
