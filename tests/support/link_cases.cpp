#include "tests/support/link_cases.h"

#include "tests/support/programs.h"

namespace ripeline::testing_support {

using verify::Outcome;

std::vector<LinkCase> link_cases() {
  const std::string through_inbox =
      "  op F forward { needs F at prev via inbox; acquires a; }\n"
      "  op B backward { needs F at here, B at next via inbox; releases a; }\n";
  const std::string once =
      "  op F forward { needs F at prev; acquires a; }\n"
      "  op B backward { needs F at here, B at next; releases a; }\n";
  return {
      {"a join whose inputs overtake sticks", join_via("", "via slots 2"), Outcome::refuted, 4,
       "taken until"},
      {"sequential does not help when messages overtake", join_via("sequential", "via slots 2"),
       Outcome::refuted, 3, "must follow"},
      {"a fifo brings the next one", join_via("sequential", "via fifo 1"), Outcome::proved},
      {"a fifo of an overtaking producer may bring others first", join_via("", "via fifo 2"),
       Outcome::unknown, 0, "only through its hint"},
      {"slots for all that can wait are enough", join_via("sequential", "via slots 4"),
       Outcome::proved},
      {"one slot less is not", join_via("sequential", "via slots 3"), Outcome::refuted, 4,
       "must follow"},
      {"a slot for each needs sequential all the same", join_via("sequential", "via slots"),
       Outcome::proved},
      {"two messages of one task need two slots",
       join_via("sequential", "via inbox", "  channel inbox per rank { slots 1; }\n"),
       Outcome::refuted, 1},
      {"a slot on a chain is enough for either direction",
       chain_of("  op F forward { needs F at prev via slots 1; acquires a; }\n"
                "  op B backward { needs F at here, B at next via slots 1; releases a; }\n"),
       Outcome::proved},
      {"a sequential consumer behind slots sticks",
       chain_of("  op F forward sequential { needs F at prev via slots 2; acquires a; }\n"
                "  op B backward { needs F at here, B at next; releases a; }\n"),
       Outcome::refuted, 3},
      {"a shared inbox fills with one kind",
       chain_of(through_inbox + "  channel inbox per stage { slots 1; }\n"), Outcome::refuted, 3,
       "inbox of stage"},
      {"a shared inbox with room for both",
       chain_of(through_inbox + "  channel inbox per stage { slots 2; }\n"), Outcome::proved},
      {"once after all", chain_of(once + "  op G reduce once { needs B at here of all; }\n"),
       Outcome::proved},
      {"once after all of another rank",
       chain_of(once + "  op G reduce once { needs B at next of all; }\n"), Outcome::proved},
      {"all at once need slots for all",
       chain_of(once + "  op G reduce once { needs B at next via slots 2 of all; }\n"),
       Outcome::refuted, 3},
      {"the flush of GPipe needs memory for all",
       chain_of("  op F forward { needs F at prev; acquires a; }\n"
                "  op B backward { needs F at here of all, B at next; releases a; }\n"),
       Outcome::refuted, 2},
      {"the microbatch before, of a sequential producer",
       chain_of("  op F forward sequential { needs F at prev; acquires a; }\n"
                "  op B backward sequential { needs F at here, B at next, F at prev of m - 1; "
                "releases a; }\n"),
       Outcome::proved},
      {"an offload engine takes part",
       chain_of("  op F forward { needs F at prev; acquires a; }\n"
                "  op O offload on copy_out { needs F at here; releases a; }\n"
                "  op L reload on copy_in { needs O at here, B at next; acquires a; }\n"
                "  op B backward { needs L at here; releases a; }\n",
                "2"),
       Outcome::proved},
      {"a reload without room for it",
       chain_of("  op F forward { needs F at prev; acquires a; }\n"
                "  op O offload on copy_out { needs F at here; }\n"
                "  op L reload on copy_in { needs O at here, B at next; acquires a; }\n"
                "  op B backward { needs L at here; releases a 2; }\n",
                "2"),
       Outcome::refuted, 2},
      {"a fifo brings what an order takes next", order_via("fifo 1", "any"), Outcome::proved},
      {"a rendezvous waits for the task before only", order_via("rendezvous", "any"),
       Outcome::proved},
      {"a rendezvous, one count", order_via("rendezvous", "6"), Outcome::proved},
      {"later messages take the slots of an order", order_via("slots 2", "any"), Outcome::refuted,
       3, "taken until"},
      {"later messages take the slots of an order, one count", order_via("slots 2", "6"),
       Outcome::refuted, 6, "taken until"},
      {"slots for as many as an order lets wait", order_via("slots 4", "any"), Outcome::proved},
      {"slots for as many, one count", order_via("slots 4", "6"), Outcome::proved},
  };
}

std::vector<Sticking> sticking_programs() {
  std::string order_needs_room = chain_text(4, "in order one_f_one_b", "any", "2");
  std::string flush_over_slots = chain_text(3, "in order gpipe", "any", "3");
  const std::string need = "F at prev";
  flush_over_slots.replace(flush_over_slots.find(need), need.size(), need + " via slots 1");
  std::vector<Sticking> programs = {
      {"a V without its reservation", v_text(3, false)},
      {"an order that waits for itself", chain_text(4, "in order waits")},
      {"an order that needs more room", order_needs_room},
      {"a flush that needs room for all", chain_text(4, "in order gpipe")},
      {"a flush over one slot", flush_over_slots},
      {"a join that its ties alone keep from sticking", join_text(false, "any", 2), true},
  };
  for (const LinkCase& c : link_cases()) {
    if (c.deadlock == Outcome::refuted) programs.push_back({c.name, c.text});
  }
  return programs;
}

}  // namespace ripeline::testing_support
