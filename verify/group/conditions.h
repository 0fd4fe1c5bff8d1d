// GroupConditions: when a proof for one member holds for a tensor-parallel group.
//
// docs/proofs.md, Collectives, has the argument. Conditions on how the program is written are
// decided here; the others are questions over the counters of one member, which the judge asks and
// a certificate writes down. Plain values; the program must outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/indexing.h"
#include "verify/ready/counter_queries.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// Why members could part although one member alone is safe.
struct Doubt {
  std::string text;
  spec::Span span{};
  bool of_links = false;
  bool is_open = false;  // a visit of every state may still decide (EverySize)
};

class GroupConditions {
 public:
  explicit GroupConditions(const spec::Program& program);

  // True if members start tasks without agreements: none is needed, or none is made.
  [[nodiscard]] bool alone() const { return alone_; }
  // If false, members share nothing: they are as many programs of one member.
  [[nodiscard]] bool has_collectives() const;
  // Why a hint's turn, or the value of a priority, may differ among members; nothing if it cannot.
  [[nodiscard]] std::optional<std::string> turns_that_differ() const;
  [[nodiscard]] std::optional<Doubt> doubt_of_pools() const;
  // One edge for each inbox whose slots must hold all messages that can ever wait for them.
  [[nodiscard]] std::vector<int> edges_that_must_fit() const;

 private:
  [[nodiscard]] std::optional<std::string> values_that_differ() const;
  [[nodiscard]] bool is_governed(const spec::Lane& lane) const;
  [[nodiscard]] bool comes_in_one_order(int edge) const;

  const spec::Program& program_;
  bool alone_ = false;
};

// A state within the invariant in which some engine has two tasks to choose from.
[[nodiscard]] Term some_choice(const spec::Program& program, CounterQueries& queries);
// A state within the invariant in which more messages wait for the inbox than it has slots.
[[nodiscard]] Term more_than_slots(const spec::Program& program, CounterQueries& queries,
                                   int inbox);

}  // namespace ripeline::verify
