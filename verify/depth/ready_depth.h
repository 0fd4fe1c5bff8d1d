// ReadyDepth: `dispatch ready` with every number of ranks, by an invariant and by the extremal
// stages of a stuck state.
//
// Each is free of quantifiers: it has the facts at the ranks in question and their neighbours only.
// Fewer facts make fewer questions unsatisfiable, so what is left out can cost a proof and never
// make one wrong. verify/depth/lemmas.h says which ranks are looked at. Docs: docs/proofs.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"
#include "verify/depth/shape.h"
#include "verify/judge/judge.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

class ReadyDepth final : public Judge {
 public:
  // Facts of a rank that the invariant is to have beside DepthTerms::facts(). They are proved with
  // it, or nothing is.
  using MoreFacts = std::function<std::vector<Term>(DepthTerms& terms, Term rank)>;
  ReadyDepth(const Shape& shape, const SolverUse& use, MoreFacts more = {});
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  [[nodiscard]] std::vector<Term> facts(DepthTerms& terms, Term rank) const;
  [[nodiscard]] std::vector<Term> facts_around(DepthTerms& terms, Term rank) const;
  [[nodiscard]] Term broken(DepthTerms& terms, Term rank) const;
  [[nodiscard]] std::optional<std::string> not_inductive();
  [[nodiscard]] std::optional<std::string> not_kept_by(const Family& lane);

  const Shape& shape_;
  SolverUse use_;
  MoreFacts more_;
  std::optional<std::string> problem_;  // why nothing is proved by the invariant
};

}  // namespace ripeline::verify::depth
