// Extremal stages: the case distinctions that a proof for every number of ranks makes.
//
// A condition holds at no stage, or there is a last stage at which it holds, after which it holds
// at none; likewise a first. This is true of any condition, since there are finitely many stages,
// so such a lemma can be added for any. A stage is a chunk and a rank. The lemmas are asked at the
// ranks in question only, which are those of the extremal stages, their neighbours, both ends and
// those given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"

namespace ripeline::verify::depth {

// Implies that the stage exists: the rank is in range.
using Condition = std::function<Term(int chunk, Term rank)>;

class ExtremalStages {
 public:
  // `each_chunk`: lemmas for the stages of each chunk by themselves too. More are tried, at a cost.
  ExtremalStages(DepthTerms& terms, bool each_chunk);

  // The lemmas for the last and the first stage of the condition.
  void add(const std::string& name, const Condition& condition);
  // A rank, and its neighbours.
  void look_at(Term rank);

  // All that is asked about.
  [[nodiscard]] const std::vector<Term>& ranks() const { return ranks_; }
  // The lemmas, at all ranks().
  [[nodiscard]] std::vector<Term> lemmas();

 private:
  struct Extreme {
    Term chunk;  // if the condition holds nowhere: -1 of a last one, of a first one `chunks`
    Term rank;
    bool last = false;
    Condition condition;
  };
  void add_extremes(const std::string& name, const Condition& condition);
  [[nodiscard]] Term beyond(const Extreme& extreme, int chunk, Term rank);

  DepthTerms& terms_;
  bool each_chunk_;
  std::vector<Term> ranks_;
  std::vector<Extreme> extremes_;
};

// Adds conditions for each op: a task is left to do; it may have its input from the same stage (a
// backlog); with `across`, it may have it from a neighbour.
void add_backlogs(DepthTerms& terms, ExtremalStages& stages, bool across);

}  // namespace ripeline::verify::depth
