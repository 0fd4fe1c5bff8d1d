// OrderEvidence: what claims about a committed order rest on.
//
// Of method `cuts` questions for all counts at once, or for each remainder of an order with
// streams, and graphs for the counts below; of `graph` a graph for each count; of `states` a visit
// of each count. Part of evidence.cpp, with what both parts use. Pure; the program and the evidence
// must outlive it.
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "certificates/evidence.h"
#include "verify/order/cuts.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// --- of both dispatches ---

// `required`: how many of the solver's required terms are asked with these.
[[nodiscard]] Question question_of(const std::string& name, const Solver& solver,
                                   const std::vector<Term>& terms, std::size_t required,
                                   bool satisfiable);
[[nodiscard]] bool covers_range(const spec::Program& program, const std::vector<int>& counts);
// Beyond what a certificate can list.
[[nodiscard]] bool too_many_tasks(const spec::Program& program, const std::vector<int>& counts);
// All in range, if there are few; else none.
[[nodiscard]] std::vector<int> counts_in_range(const spec::Program& program);
[[nodiscard]] bool peaks_are_capacities(const spec::Program& program, const Claim& claim);

// --- of a committed order ---

class OrderEvidence {
 public:
  OrderEvidence(const spec::Program& program, Evidence& found) : program_(program), found_(found) {}

  // False: the claim's method is none of these.
  [[nodiscard]] bool proved(const Claim& claim);
  // For a refuted deadlock: adds the graph of its count if that has a cycle, beside the run.
  void refuted(const Claim& claim);
  // Writes the questions and the graphs. Once, after all claims.
  void finish();

 private:
  struct AskedTerms {
    std::string name;
    Term bad;
    bool satisfiable = false;
  };
  // One for all counts, or one for each remainder of an order with streams.
  struct Cuts {
    explicit Cuts(const spec::Program& program);
    Cuts(const spec::Program& program, const PeriodicFamily& family, std::int64_t remainder);

    CutQueries queries;
    std::string which;  // ends a question's name
    std::vector<AskedTerms> asked;
  };

  void gap(const std::string& sentence) { found_.gaps.push_back(sentence); }
  [[nodiscard]] bool make_cuts();
  void by_cuts(const Claim& claim);
  void ask_cuts(const Claim& claim, Cuts& cuts);
  [[nodiscard]] std::optional<std::string> beyond_graphs(const Claim& claim) const;
  [[nodiscard]] bool room_comes_from_elsewhere() const;
  void by_graph(const Claim& claim);
  void by_graph_until(const Claim& claim, std::int64_t end);
  void by_states(const Claim& claim);

  const spec::Program& program_;
  Evidence& found_;
  std::list<Cuts> cuts_;
  std::int64_t first_by_cuts_ = 0;  // the fewest microbatches that cuts_ are for
  std::map<int, GraphEvidence> graphs_;
};

}  // namespace ripeline::verify
