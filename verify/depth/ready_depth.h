// ReadyDepth: `dispatch ready` with every number of ranks, by an invariant and by the extremal
// stages of a stuck state.
//
// Each is free of quantifiers: it has the facts at the ranks in question and their neighbours only.
// Fewer facts make fewer questions unsatisfiable, so what is left out can cost a proof and never
// make one wrong. verify/depth/lemmas.h says which ranks are looked at. Docs: docs/proofs.md.
#pragma once

#include <string>

#include "verify/depth/depth_terms.h"
#include "verify/depth/shape.h"
#include "verify/judge/fault.h"
#include "verify/judge/judge.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

class ReadyDepth final : public Judge {
 public:
  ReadyDepth(const Shape& shape, const SolverUse& use, Fault fault);
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] std::string not_inductive();
  [[nodiscard]] std::string not_kept_by(const Family& lane);

  const Shape& shape_;
  SolverUse use_;
  Fault fault_;
  std::string problem_;  // why nothing is proved by the invariant
};

}  // namespace ripeline::verify::depth
