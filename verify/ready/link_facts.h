// LinkFacts: the facts about a lane's next start that follow from bounded links.
//
// If an edge has k slots, k of its ready messages have arrived, or all if there are fewer; timing
// chooses which. One is enough for a lane that takes any microbatch and needs only this message
// still. Over a fifo edge with a producer in order the next message is among them. Otherwise counts
// only show that all have arrived if there are at most k. See verify/ready/counters.h.
//
// An example: 0F, in any order, sends over 2 slots to 1F, which is sequential. If 0F has ended
// three tasks and 1F none, the two messages that arrived may be those of 1 and 2, and 1F, which
// must begin with 0, waits for ever; since 3 - 0 > 2, counts do not tell that 1F may start. Over
// `fifo 2` behind a sequential 0F the two are those of 0 and 1, so counts are exact. If 1F may take
// any microbatch, one of the two is enough, so counts are exact as well.
//
// One thread; the constructor's arguments must outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"
#include "verify/ready/need_facts.h"
#include "verify/ready/prefixes.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

// Slots that edges share when nothing more can arrive: all are taken, or no message waits.
struct SharedSlots {
  std::int64_t slots = 0;
  std::vector<int> arrived;     // per edge: the variable that counts arrived, untaken messages
  std::vector<Linear> pending;  // per edge: tasks ended by the producer, less the consumer's
};

class LinkFacts {
 public:
  LinkFacts(const spec::Program& program, const Prefixes& prefixes, const NeedFacts& needs);

  // The slots of channels whose pending messages are counted exactly. Each edge of such a channel
  // has a variable, numbered after the lanes' variables.
  [[nodiscard]] const std::vector<SharedSlots>& shared() const { return shared_; }
  [[nodiscard]] int variables() const { return variables_; }

  // Adds the facts that follow from these edges of the lane; `offers` are those that NeedFacts
  // returned. Returns false if links make `may` and `must` differ.
  [[nodiscard]] bool add(int lane, const std::vector<int>& edges, const std::vector<Offer>& offers,
                         StartFacts& facts) const;

 private:
  [[nodiscard]] const spec::Edge& edge(int e) const { return at(program_.edges, e); }
  [[nodiscard]] std::int64_t slots_of(int inbox) const { return at(program_.inboxes, inbox).slots; }
  [[nodiscard]] Linear pending(int e) const;
  [[nodiscard]] bool add_slots_at_once(const std::vector<int>& edges, StartFacts& facts) const;
  [[nodiscard]] Linear some_arrived(int e) const;
  [[nodiscard]] Facts others_whole(int e, const std::vector<Offer>& offers) const;
  [[nodiscard]] std::vector<Offer>::const_iterator offer_over(
      int e, const std::vector<Offer>& offers) const;
  [[nodiscard]] bool arrives_in_order(int e) const;
  [[nodiscard]] bool all_in_order(const std::vector<Offer>& offers,
                                  const std::vector<int>& bounded) const;
  [[nodiscard]] bool any_will_do(int lane, int e, const std::vector<Offer>& offers) const;
  void require_arrival(int e, std::vector<Facts> ways, StartFacts& facts) const;

  const spec::Program& program_;
  const Prefixes& prefixes_;
  const NeedFacts& needs_;
  std::vector<std::vector<int>> inbox_edges_;
  std::vector<int> arrived_;  // per edge: its variable for shared slots, or -1
  std::vector<SharedSlots> shared_;
  int variables_ = 0;
};

}  // namespace ripeline::verify
