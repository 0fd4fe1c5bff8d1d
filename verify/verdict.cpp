#include "verify/verdict.h"

#include <algorithm>

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
  for (const char* name : {"deadlock", "collectives", "messages", "memory", "once"}) {
    verdict.obligations.emplace_back().name = name;
  }
  verdict.solver = Solver::version();
  return verdict;
}

const Obligation& obligation(const Verdict& verdict, const std::string& name) {
  return *std::find_if(verdict.obligations.begin(), verdict.obligations.end(),
                       [&](const Obligation& o) { return o.name == name; });
}

Obligation& obligation(Verdict& verdict, const std::string& name) {
  return const_cast<Obligation&>(obligation(std::as_const(verdict), name));
}

}  // namespace ripeline::verify
