// Extremal stages: the case distinctions that a proof for every number of ranks makes.
//
// A condition either holds at no stage, or there is a last stage at which it holds, after which it
// holds at none. The same is true of a first stage. This is so for every condition, since there are
// finitely many stages, so such lemmas can be added for any condition. A stage is a chunk and a
// rank. Lemmas are stated only at the ranks in ranks(): those of extremal stages, their neighbours,
// both ends and given ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/depth/depth_terms.h"

namespace ripeline::verify::depth {

// A condition must imply that the stage exists, that is, that the rank is in range.
using Condition = std::function<Term(int chunk, Term rank)>;

class ExtremalStages {
 public:
  // With `each_chunk`, also adds lemmas for the stages of each chunk alone, which cost time.
  ExtremalStages(DepthTerms& terms, bool each_chunk);

  // Adds the lemmas for the last and the first stage at which the condition holds.
  void add(const std::string& name, const Condition& condition);
  // Adds a rank and its neighbours to ranks().
  void look_at(Term rank);

  // The ranks at which lemmas are stated.
  [[nodiscard]] const std::vector<Term>& ranks() const { return ranks_; }
  // The lemmas, at all ranks().
  [[nodiscard]] std::vector<Term> lemmas();

 private:
  struct Extreme {
    Term chunk;  // if the condition holds nowhere: -1 (last stage) or `chunks` (first stage)
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

// Adds conditions for each op: it has tasks left; for each need at its own stage, it is behind this
// producer (a backlog). With `across`, adds one: it is behind any producer, even at a neighbour.
void add_backlogs(DepthTerms& terms, ExtremalStages& stages, bool across);

}  // namespace ripeline::verify::depth
