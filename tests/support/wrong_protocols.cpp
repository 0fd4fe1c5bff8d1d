#include "tests/support/wrong_protocols.h"

namespace ripeline::testing_support {

using verify::Protocol;
using Publishes = Protocol::Publishes;
using Decides = Protocol::Decides;
using Unready = Protocol::Unready;
using Result = verify::Trial::Result;

namespace {

// The correct protocol of this kind, with one mistake.
Protocol changed(spec::Agree agree, const std::string& name,
                 const std::function<void(Protocol&)>& mistake) {
  Protocol protocol = verify::right_protocol(agree);
  protocol.name = name;
  mistake(protocol);
  return protocol;
}

}  // namespace

std::vector<WrongProtocol> wrong_protocols() {
  using spec::Agree;
  const std::string start_what_came = "0:arrive0 0:start0 1:arrive1 1:start1";
  const std::string fill_the_slot = "0:arrive0 1:arrive1";
  return {
      {{"each picks for itself", Publishes::nothing, Decides::own_choice},
       Result::parts,
       2,
       start_what_came},
      {{"in the order of arrival", Publishes::nothing, Decides::first_come},
       Result::parts,
       2,
       start_what_came},
      // NVIDIA/Megatron-LM#1810: two collectives on two streams wait for the same event.
      {{"one event for two collectives", Publishes::nothing, Decides::one_event},
       Result::parts,
       2,
       "0:arrive0 0:start0 1:arrive0 1:start1"},
      {{"majority", Publishes::choice, Decides::most_choices, Unready::passes},
       Result::parts,
       3,
       "0:arrive0 0:arrive1 0:publish 1:arrive0 1:publish 2:arrive1 2:publish 0:start0 0:publish "
       "1:start0 1:publish 2:pass0 2:publish 2:start1"},
      {{"union of ready sets", Publishes::ready, Decides::any_ready, Unready::passes},
       Result::parts,
       2,
       "0:arrive0 0:publish 1:arrive1 1:publish 0:start0 0:publish 1:pass0 1:publish 1:start1"},
      {changed(Agree::leader, "a leader skipped on time-out",
               [](Protocol& p) { p.unready = Unready::passes; }),
       Result::parts, 2,
       "0:arrive0 0:arrive1 0:publish 0:start0 0:publish 1:arrive1 1:pass0 1:start1"},
      {changed(Agree::intersection, "readiness looked at again after the vote",
               [](Protocol& p) { p.looks_again = true; }),
       Result::parts, 2, "0:arrive0 0:arrive1 0:publish 1:arrive1 1:publish 0:start0 1:start1"},
      {changed(Agree::intersection, "a stale hint at one member",
               [](Protocol& p) { p.stale_hint = true; }),
       Result::parts, 2,
       "0:arrive0 0:arrive1 0:publish 1:arrive0 1:arrive1 1:publish 0:start0 1:start1"},
      {changed(Agree::intersection, "a counter that a retry does not advance",
               [](Protocol& p) { p.new_round_on_retry = false; }),
       Result::parts, 2,
       "0:arrive0 0:publish 0:arrive1 1:arrive1 1:publish 0:retry 1:arrive0 1:retry 0:publish "
       "0:start1 1:publish 1:start0"},
      {changed(Agree::vote, "shapes compared instead of tasks",
               [](Protocol& p) { p.compares_shapes = true; }),
       Result::parts, 2, "0:arrive0 0:publish 1:arrive1 1:publish 0:start0 1:start1"},
      // All tasks start in one order, but shared slots can still be filled.
      {changed(Agree::leader, "a leader over shared slots",
               [](Protocol& p) { p.shared_slots = 1; }),
       Result::hangs, 2, fill_the_slot},
      {changed(Agree::vote, "a vote over shared slots", [](Protocol& p) { p.shared_slots = 1; }),
       Result::hangs, 2, fill_the_slot},
      {changed(Agree::vote, "a vote with a stale hint at one member",
               [](Protocol& p) { p.stale_hint = true; }),
       Result::hangs, 2, fill_the_slot},
  };
}

}  // namespace ripeline::testing_support
