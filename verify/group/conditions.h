// GroupConditions: when a proof for one member holds for a tensor-parallel group.
//
// docs/proofs.md, Collectives, has the argument. Conditions on how the program is written are
// decided here; the others are questions about the counters of one member, which the judge asks and
// a certificate writes down. Plain values, which the program must outlive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/indexing.h"
#include "verify/ready/counter_queries.h"
#include "verify/solver/solver.h"

namespace ripeline::verify {

// Why members could differ, although one member alone is safe.
struct Doubt {
  std::string text;
  spec::Span span{};
  bool of_links = false;
  bool is_open = false;  // a visit of every state may still decide (EverySize)
};

class GroupConditions {
 public:
  explicit GroupConditions(const spec::Program& program);

  // True if members start tasks without agreements, since none is needed or none is made.
  [[nodiscard]] bool alone() const { return alone_; }
  // Whether any task has collectives. If none has, members are independent programs of one member.
  [[nodiscard]] bool has_collectives() const;
  // Why a hint's turn, or the value of a priority, may differ among members; nullopt if it cannot.
  [[nodiscard]] std::optional<std::string> turns_that_differ() const;
  [[nodiscard]] std::optional<Doubt> doubt_of_pools() const;
  // One edge of each inbox that must have slots for all messages that can ever wait there.
  [[nodiscard]] std::vector<int> edges_that_must_fit() const;

 private:
  [[nodiscard]] std::optional<std::string> values_that_differ() const;
  [[nodiscard]] bool is_governed(const spec::Lane& lane) const;
  [[nodiscard]] bool comes_in_one_order(int edge) const;

  const spec::Program& program_;
  bool alone_ = false;
};

// True if the state satisfies the invariant and some engine can choose between two tasks in it.
[[nodiscard]] Term some_choice(const spec::Program& program, CounterQueries& queries);
// True if the state satisfies the invariant and more messages wait for the inbox than it has slots.
[[nodiscard]] Term more_than_slots(const spec::Program& program, CounterQueries& queries,
                                   int inbox);

}  // namespace ripeline::verify
