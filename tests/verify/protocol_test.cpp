// Tests that correct protocols keep every group in one order; a run refutes each wrong protocol.
#include "verify/group/protocol.h"
#include "verify/group/protocol_every_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/wrong_protocols.h"

namespace ripeline::verify {
namespace {

using testing_support::wrong_protocols;
using testing_support::WrongProtocol;

constexpr std::uint64_t kSteps = 1'000'000;
constexpr std::size_t kStates = 300'000;
constexpr int kTasks = 2;  // for wrong protocols

TEST(Protocol, right_ones_agree_for_every_number_of_members) {
  for (const spec::Agree agree :
       {spec::Agree::intersection, spec::Agree::vote, spec::Agree::leader}) {
    EXPECT_EQ(agrees_for_every_size(right_protocol(agree), kSteps), Answer::unsat)
        << right_protocol(agree).name;
  }
  EXPECT_EQ(agrees_for_every_size(right_protocol(spec::Agree::none), kSteps), Answer::sat);
}

TEST(Protocol, right_ones_are_sound_in_every_state_of_small_groups) {
  struct Size {
    int members;
    int tasks;
  };
  for (const spec::Agree agree :
       {spec::Agree::intersection, spec::Agree::vote, spec::Agree::leader}) {
    for (const Size size : {Size{1, 3}, Size{2, 2}, Size{2, 3}, Size{3, 2}}) {
      const Trial tried = try_all(right_protocol(agree), size.members, size.tasks, kStates);
      EXPECT_EQ(tried.result, Trial::Result::sound)
          << right_protocol(agree).name << ", " << size.members << " members";
      EXPECT_GT(tried.states, static_cast<std::size_t>(size.tasks));
    }
  }
}

// A text such as 0:arrive1 0:publish 0:start1.
std::string text_of(const std::vector<ProtocolEvent>& run) {
  const std::map<ProtocolEvent::Do, std::string> names = {
      {ProtocolEvent::Do::arrive, "arrive"}, {ProtocolEvent::Do::publish, "publish"},
      {ProtocolEvent::Do::start, "start"},   {ProtocolEvent::Do::pass, "pass"},
      {ProtocolEvent::Do::await, "await"},
  };
  std::string text;
  for (const ProtocolEvent& event : run) {
    const bool retry = event.what == ProtocolEvent::Do::pass && event.task < 0;
    text += (text.empty() ? "" : " ") + std::to_string(event.member) + ":" +
            (retry ? "retry" : names.at(event.what)) +
            (event.task < 0 ? "" : std::to_string(event.task));
  }
  return text;
}

// The state at the end of the protocol's run; expects that each event is enabled when it happens.
ProtocolMachine::State replayed(const WrongProtocol& wrong, const Trial& tried) {
  const ProtocolMachine machine(wrong.protocol, wrong.members, kTasks);
  ProtocolMachine::State state = machine.initial();
  for (const ProtocolEvent& event : tried.run) {
    const auto next = machine.enabled(state);
    EXPECT_NE(std::find(next.begin(), next.end(), event), next.end()) << machine.describe(event);
    machine.step(state, event);
  }
  return state;
}

TEST(Protocol, each_wrong_one_is_refuted_with_a_run) {
  for (const WrongProtocol& wrong : wrong_protocols()) {
    SCOPED_TRACE(wrong.protocol.name);
    const Trial tried = try_all(wrong.protocol, wrong.members, kTasks, kStates);
    ASSERT_EQ(tried.result, wrong.shows);
    const ProtocolMachine machine(wrong.protocol, wrong.members, kTasks);
    const ProtocolMachine::State state = replayed(wrong, tried);
    EXPECT_EQ(machine.parted(state), wrong.shows == Trial::Result::parts);
    EXPECT_FALSE(machine.done(state));
    EXPECT_EQ(text_of(tried.run), wrong.run);
  }
}

// The induction fails if members can part; if a protocol can only hang, its members keep one order.
TEST(Protocol, the_induction_fails_where_members_part) {
  for (const WrongProtocol& wrong : wrong_protocols()) {
    const bool parts = wrong.shows == Trial::Result::parts;
    EXPECT_EQ(agrees_for_every_size(wrong.protocol, kSteps), parts ? Answer::sat : Answer::unsat)
        << wrong.protocol.name;
  }
}

}  // namespace
}  // namespace ripeline::verify
