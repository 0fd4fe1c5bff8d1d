// NeedFacts: the facts about a lane's next start that follow from its needs.
//
// Each need *offers* a set of microbatches: those for which the need is met. A task may start only
// if each offer has more microbatches than the lane has run. That suffices if offers are nested,
// since the smallest is then their intersection. Otherwise they are subsets of a set of size w, and
// k subsets of sizes s1, …, sk have at least s1 + … + sk - (k - 1) w microbatches in common.
//
// An example: two encoders on ranks 0 and 1 feed a model on rank 2; all run microbatches in any
// order. If 0F has ended 0 and 1 of three microbatches, and 1F has ended 1 and 2, both offers have
// size 2. StartFacts::may then allows two tasks of 2F, though only microbatch 1 has both inputs;
// `must` allows 2 + 2 - 3 = 1. If both were sequential, both sets would be {0, 1}: two may start.
//
// Between lanes of different shares, an offer includes the consumer's tasks that need nothing. If
// the producer starts its microbatches in order, its count shows whether it has ended all that the
// lane's next task needs (next_has_ended). One thread; keeps references to both arguments.
#pragma once

#include <vector>

#include "spec/program.h"
#include "verify/ready/prefixes.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

// The offer of one need: a set of the consumer's microbatches with at least `size` of them.
struct Offer {
  int edge = -1;
  Linear size;
  bool prefix = false;  // the set is the first `size` microbatches, or all if there are fewer
};

class NeedFacts {
 public:
  NeedFacts(const spec::Program& program, const Prefixes& prefixes)
      : program_(program), prefixes_(prefixes) {}

  struct Needs {
    std::vector<Offer> offers;  // the innermost offers: none contains another
    bool exact = true;          // the facts that must hold also suffice
  };
  // Adds the facts about the consumer's next start that follow from its needs over these edges.
  Needs add(int lane, const std::vector<int>& edges, StartFacts& facts) const;

  // Sizes of sets that contain all tasks that the producers of these offers have ended: the tasks
  // ended by a lane that all producers need, or every microbatch. With `in_order`, only prefixes;
  // an offer for the microbatch before has at most one microbatch outside of such a prefix.
  [[nodiscard]] std::vector<Linear> holding(const std::vector<Offer>& offers,
                                            bool in_order = false) const;

 private:
  [[nodiscard]] const spec::Edge& edge(int e) const { return at(program_.edges, e); }
  [[nodiscard]] const spec::Share& share_of(int lane) const {
    return at(program_.lanes, lane).share;
  }
  [[nodiscard]] bool crosses_shares(int e) const { return program_.crosses_shares(edge(e)); }
  [[nodiscard]] Offer offer_of(int e) const;
  [[nodiscard]] std::vector<Offer> innermost(const std::vector<Offer>& offers) const;
  [[nodiscard]] bool add_offers(int lane, const std::vector<Offer>& kept, StartFacts& facts) const;
  void add_offers_of_shares(int lane, const std::vector<Offer>& kept, StartFacts& facts) const;
  void add_next(int lane, const Offer& offer, StartFacts& facts) const;
  [[nodiscard]] Linear next_has_ended(int lane, int producer) const;

  const spec::Program& program_;
  const Prefixes& prefixes_;
};

// Adds the number of the consumer's tasks that need nothing over an edge which crosses shares.
void add_unneeded(Linear& sum, const spec::Program& program, const spec::Edge& edge);

}  // namespace ripeline::verify
