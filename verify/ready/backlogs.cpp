// Finds the needs that have no backlog in states where nothing may start, producers before their
// consumers; backlogs.h explains why that is sound.
#include "verify/ready/backlogs.h"

#include <algorithm>
#include <set>

#include "spec/indexing.h"
#include "verify/ready/counter_queries.h"
#include "verify/ready/start_facts.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

using spec::Program;

namespace {

struct Backlog {
  int producer = -1;
  int consumer = -1;
};

bool counts_as_backlog(const Program& program, const spec::Edge& edge) {
  return edge.of == spec::Of::same && !program.crosses_shares(edge);
}

// The lanes, each after the lanes whose microbatches it needs. These needs form no cycle.
std::vector<int> in_order_of_needs(const Program& program) {
  std::vector<int> missing(program.lanes.size(), 0);  // producers that are not listed yet
  for (const spec::Edge& e : program.edges) {
    if (counts_as_backlog(program, e)) ++at(missing, e.consumer);
  }
  std::vector<int> placed;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (at(missing, lane) == 0) placed.push_back(lane);
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    for (const int edge : at(program.lanes, placed[i]).feeds) {
      const spec::Edge& e = at(program.edges, edge);
      if (counts_as_backlog(program, e) && --at(missing, e.consumer) == 0) {
        placed.push_back(e.consumer);
      }
    }
  }
  return placed;
}

std::vector<Backlog> backlogs(const Program& program) {
  std::vector<Backlog> at_one_stage;
  std::vector<Backlog> across;
  for (const int lane : in_order_of_needs(program)) {
    for (const int edge : at(program.lanes, lane).edges) {
      const spec::Edge& e = at(program.edges, edge);
      if (!counts_as_backlog(program, e)) continue;
      const bool here = at(program.lanes, e.producer).stage == at(program.lanes, lane).stage;
      (here ? at_one_stage : across).push_back({e.producer, lane});
    }
  }
  at_one_stage.insert(at_one_stage.end(), across.begin(), across.end());
  return at_one_stage;
}

Counters without_invariant(Counters counters) {
  counters.invariant.clear();
  return counters;
}

// Asks about a few ranks at a time. Each question gets known facts anew, since a solver that has
// the facts of all ranks considers all ranks.
class FewRanks {
 public:
  FewRanks(const Program& program, const Counters& counters, std::uint64_t steps)
      : program_(program), queries_(program, without_invariant(counters), steps), steps_(steps) {
    for (const Linear& fact : counters.invariant) know(fact, queries_.not_negative(fact));
    for (int lane = 0; lane < size_of(program.lanes); ++lane) {
      blocked_.push_back(queries_.blocked(lane));
    }
  }

  bool excludes(const Backlog& backlog) {
    std::set<int> ranks{rank_of(backlog.consumer)};
    for (const int edge : at(program_.lanes, backlog.consumer).edges) {
      ranks.insert(rank_of(at(program_.edges, edge).producer));
    }
    const Linear ahead = is_ahead(backlog.producer, backlog.consumer);
    const Term has_backlog = queries_.not_negative(ahead);
    std::vector<Term> facts{has_backlog};
    for (const Fact& fact : known_) {
      if (is_about(fact, ranks)) facts.push_back(fact.holds);
    }
    for (const int rank : ranks) {
      for (int lane = program_.first_lane(rank); lane < program_.first_lane(rank + 1); ++lane) {
        const std::vector<Term>& blocked = at(blocked_, lane);
        facts.insert(facts.end(), blocked.begin(), blocked.end());
      }
    }
    const Answer found = queries_.solver().check("deadlock: a backlog", facts, steps_);
    if (found != Answer::unsat) return false;
    know(ahead, !has_backlog);
    return true;
  }

 private:
  struct Fact {
    std::vector<int> ranks;  // per lane in the fact
    Term holds;
  };

  [[nodiscard]] int rank_of(int lane) const { return at(program_.lanes, lane).rank; }

  // Stores a fact, unless it is about arrivals: no lane counts these, so it belongs to no rank.
  void know(const Linear& of, Term holds) {
    Fact fact{{}, holds};
    for (const auto& [counter, factor] : of.lanes) {
      if (counter >= size_of(program_.lanes)) return;
      fact.ranks.push_back(rank_of(counter));
    }
    known_.push_back(std::move(fact));
  }

  static bool is_about(const Fact& fact, const std::set<int>& ranks) {
    return std::all_of(fact.ranks.begin(), fact.ranks.end(),
                       [&ranks](int rank) { return ranks.count(rank) > 0; });
  }

  const Program& program_;
  CounterQueries queries_;
  std::uint64_t steps_;  // for each question
  std::vector<Fact> known_;
  std::vector<std::vector<Term>> blocked_;  // per lane
};

}  // namespace

std::vector<Linear> excluded_backlogs(const Program& program, const Counters& counters,
                                      std::uint64_t steps) {
  FewRanks asked(program, counters, steps);
  std::vector<Linear> excluded;
  for (const Backlog& backlog : backlogs(program)) {
    if (asked.excludes(backlog)) excluded.push_back(is_ahead(backlog.producer, backlog.consumer));
  }
  return excluded;
}

}  // namespace ripeline::verify
