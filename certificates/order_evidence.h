// OrderEvidence: the evidence for claims about a committed order.
//
// A claim by `cuts` has questions for all counts at once, or for each remainder of an order with
// streams, and graphs for smaller counts; a claim by `graph` has a graph for each count; a claim by
// `states` has a visit of each count. A part of evidence.cpp, with functions that both use. Pure;
// the program and the evidence must outlive it.
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

// `required` is the number of the solver's required terms that the question includes.
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

  // Adds the evidence for a proved claim; false if the claim's method is not one of these.
  [[nodiscard]] bool proved(const Claim& claim);
  // Adds, for a refuted deadlock, the graph of its count beside the run, if the graph has a cycle.
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
