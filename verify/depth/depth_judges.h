// The questions whose answers prove a Shape for every number of ranks.
//
// Each is free of quantifiers: it has the facts at the ranks in question and their neighbours only.
// Fewer facts make fewer questions unsatisfiable, so what is left out can cost a proof and never
// make one wrong. verify/depth/lemmas.h says which ranks are looked at. Docs: docs/proofs.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"
#include "verify/depth/shape.h"
#include "verify/judge/fault.h"
#include "verify/judge/judge.h"

namespace ripeline::verify::depth {

// Of `dispatch ready`.
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

// Of `dispatch in order`: each rank stands at a place of its order, as in verify/order/cuts.cpp.
class OrderDepth final : public Judge {
 public:
  OrderDepth(const Shape& shape, const SolverUse& use, Fault fault);
  [[nodiscard]] Finding once() override;
  [[nodiscard]] Finding deadlock() override;
  [[nodiscard]] MemoryFinding memory() override;

 private:
  const Shape& shape_;
  SolverUse use_;
  Fault fault_;
  Finding once_;
};

// A way to start a task: the lane, at the rank that is asked about, where `here` holds.
struct Start {
  Family lane;
  Term here;
};
// No assertion is broken by one of these starts at the rank, where the facts hold.
[[nodiscard]] Finding keeps_assertions(DepthTerms& terms, Term rank, const std::vector<Term>& facts,
                                       const std::vector<Start>& starts, Fault fault);
// That a stuck state of whatever these are could not be excluded.
[[nodiscard]] Finding not_excluded(const std::string& what);

// What the elaborator checks at one depth, for all of them: lanes that are needed exist, amounts
// fit. A sentence, or nothing.
[[nodiscard]] std::string not_well_formed(const Shape& shape, const SolverUse& use);

// The terms of the shape mean, with the ranks of this program, what verify/ready/counters.h makes
// of the program; and so do its range, its order and its assertions. A sentence that says what does
// not.
[[nodiscard]] std::string disagreement(const Shape& shape, const spec::Program& program,
                                       const SolverUse& use, Fault fault);

}  // namespace ripeline::verify::depth
