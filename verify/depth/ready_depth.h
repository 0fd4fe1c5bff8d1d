// ReadyDepth: judges `dispatch ready` for every number of ranks, by an invariant and by the
// extremal stages of a stuck state.
//
// Each question is free of quantifiers: it has the facts only at some ranks and their neighbours.
// Fewer facts make fewer questions unsatisfiable, so a missing fact may lose a proof, but never
// makes one wrong. verify/depth/lemmas.h tells which ranks are used. Docs: docs/proofs.md.
//
// An example, which the solver finds in the same way: `F needs F at prev; B needs F at here, B at
// next`, where rank r has room for R - r activations, held from F to B. Let f(r) and b(r) count its
// ended tasks. The invariant has b(r) <= f(r) <= M, f(r) <= f(r - 1), b(r) <= b(r + 1) and f(r) -
// b(r) <= R - r. Suppose that nothing may start. Is some B behind its F? Let l be the last such
// rank: b(l) < f(l). Its B waits for the next rank alone, so l < R - 1 and b(l + 1) = b(l). Since l
// is the last, f(l + 1) = b(l + 1) < f(l): the F of l + 1 has its input, holds nothing and has room
// for one. Contradiction. So b = f everywhere and nobody holds anything; let x be the first rank
// with f(x) < M. It is 0, or f(x - 1) = M: its F may start. For two ranks l can only be 0, and for
// a thousand the argument looks at no more than l, l + 1, x - 1 and x.
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
  // Facts about a rank to be added to the invariant of DepthTerms::facts(). If they cannot be
  // proved together with the invariant, nothing is proved.
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
