// WatchedAgreement: an agreement that wraps an executor's protocol, reports ballots, and can
// contain planted mistakes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "core/agreement.h"

namespace ripeline::joint {

enum class GroupBug : std::uint8_t {
  none,
  wrong_round,       // a ballot of another round counts as one of this round
  no_new_attempt,    // a repeated ballot has the number of the previous attempt
  no_second_ballot,  // a ballot is given only once in a round
  own_choice,        // the last member chooses among all tasks that may start there
  log_as_it_comes,   // the leader's log is read in the order of arrival
  early_is_lost,     // ballots of the next step are forgotten
  log_is_a_hint,     // a follower that waits for the task of the log meanwhile starts another one
};
inline constexpr std::array kGroupBugs = {
    "none",       "wrong_round",     "no_new_attempt", "no_second_ballot",
    "own_choice", "log_as_it_comes", "early_is_lost",  "log_is_a_hint"};

class WatchedAgreement final : public core::Agreement {
 public:
  using Gives = std::function<void(const core::Ballot&)>;
  WatchedAgreement(const core::ProgramFacts& facts, const core::Coordinates& self, GroupBug bug,
                   Gives gives);

  void begin_step(int microbatches) override;
  Decision choose(const core::Arbiter& arbiter, core::Engine engine, core::Time now) override;
  void started(core::Task task) override;
  core::Status heard(int member, const core::Ballot& ballot) override;

 private:
  const core::ProgramFacts& facts_;
  core::Coordinates self_;
  GroupBug bug_;
  Gives gives_;
  std::unique_ptr<core::Agreement> inner_;
  std::array<std::int32_t, core::kEngines> rounds_{};
  std::array<core::Ballot, core::kEngines> given_;
  std::map<std::tuple<int, core::Engine, std::int32_t>, std::int32_t> came_;
};

}  // namespace ripeline::joint
