// OrderEvidence: the evidence for claims about a committed order.
//
// Method `cuts`: the evidence is questions for all microbatch counts, or for each remainder if the
// order has streams, and graphs for counts too small for these questions. Method `graph`: a graph
// for each count. Method `states`: a visit of each count. This is a part of evidence.cpp; both use
// the functions at the top. Pure; the program and the evidence must outlive an OrderEvidence.
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "certificates/evidence.h"
#include "verify/order/cuts.h"
#include "verify/solver/solver.h"

namespace ripeline::certificates {

// --- for both dispatches ---

// The question includes the first `required` of the terms that were required of the solver.
[[nodiscard]] Question question_of(const std::string& name, const verify::Solver& solver,
                                   const std::vector<verify::Term>& terms, std::size_t required,
                                   bool satisfiable);
[[nodiscard]] bool covers_range(const spec::Program& program, const std::vector<int>& counts);
// True if there are more tasks than a certificate can list.
[[nodiscard]] bool too_many_tasks(const spec::Program& program, const std::vector<int>& counts);
// All counts in range, if there are few of them; empty if there are many.
[[nodiscard]] std::vector<int> counts_in_range(const spec::Program& program);
[[nodiscard]] bool peaks_are_capacities(const spec::Program& program, const Claim& claim);

// --- for a committed order ---

class OrderEvidence {
 public:
  OrderEvidence(const spec::Program& program, Evidence& found) : program_(program), found_(found) {}

  // Adds the evidence for a proved claim; false for a method that this class does not handle.
  [[nodiscard]] bool proved(const Claim& claim);
  // For a refuted deadlock whose graph has a cycle, adds this graph as evidence beside the run.
  void refuted(const Claim& claim);
  // Writes the questions and the graphs. Call once, after all claims.
  void finish();

 private:
  struct AskedTerms {
    std::string name;
    verify::Term bad;
    bool satisfiable = false;
  };
  // The queries for all counts, or for one remainder of an order with streams.
  struct Cuts {
    explicit Cuts(const spec::Program& program);
    Cuts(const spec::Program& program, const verify::PeriodicFamily& family,
         std::int64_t remainder);

    verify::CutQueries queries;
    std::string which;  // the suffix of a question's name
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
  std::int64_t first_by_cuts_ = 0;  // the fewest microbatches that cuts_ cover
  std::map<int, GraphEvidence> graphs_;
};

}  // namespace ripeline::certificates
