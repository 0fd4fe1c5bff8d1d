// One round of two members of a group of any size, as terms.
#include "verify/group/protocol_every_size.h"

#include "verify/group/protocol.h"

namespace ripeline::verify {

namespace {

// One of the two members in a round. A choice that the rules leave to the member is a variable of
// its own; values that are the same for all members are shared.
class OneMember {
 public:
  OneMember(const Protocol& protocol, Solver& solver, const std::string& name)
      : protocol_(protocol), solver_(solver), name_(name) {}

  // The task that the member issues, having issued `history` before; -1 means none.
  Term issues(Term round, Term history) {
    const Term decided = decision(round, history);
    if (protocol_.unready == Protocol::Unready::waits) return decided;
    return if_then_else(own("may start it") == solver_.number(1), decided, solver_.number(-1));
  }

 private:
  Term own(const std::string& what) { return solver_.integer(what + " of " + name_); }

  // The words of all members as this member sees them: all members see the same words of a round,
  // unless a retry replaces some.
  Term words(Term round) {
    if (protocol_.new_round_on_retry) return solver_.apply("words", {round});
    return solver_.apply("words", {round, own("time")});
  }
  Term hint() { return protocol_.stale_hint ? own("hint") : solver_.integer("hint"); }
  Term choice(Term tasks, Term history) {
    return solver_.apply("choose", {hint(), tasks, history});
  }

  Term decision(Term round, Term history) {
    using Decides = Protocol::Decides;
    switch (protocol_.decides) {
      case Decides::common_ready:
        return choice(
            protocol_.looks_again ? own("ready") : solver_.apply("common", {words(round)}),
            history);
      case Decides::any_ready:
        return choice(solver_.apply("any", {words(round)}), history);
      case Decides::same_choice:
        if (!protocol_.compares_shapes) return solver_.apply("unanimous", {words(round)});
        // A member issues its own choice if the choices of all members have the same shape.
        solver_.require(solver_.apply("shape", {own("choice")}) ==
                        solver_.apply("unanimous", {words(round)}));
        return own("choice");
      case Decides::most_choices:
        return solver_.apply("majority", {words(round)});
      case Decides::leader:
        return solver_.apply("leader's", {words(round)});
      case Decides::own_choice:
      case Decides::first_come:
      case Decides::one_event:
        break;
    }
    return choice(own("ready"), history);
  }

  const Protocol& protocol_;
  Solver& solver_;
  std::string name_;
};

}  // namespace

Term two_members_part(const Protocol& protocol, Solver& solver) {
  const Term round = solver.integer("round");
  const Term history = solver.integer("history");
  const Term one = OneMember(protocol, solver, "one").issues(round, history);
  const Term other = OneMember(protocol, solver, "other").issues(round, history);
  return !(one == other);
}

Answer agrees_for_every_size(const Protocol& protocol, std::uint64_t steps) {
  Solver solver(steps);
  const Term part = two_members_part(protocol, solver);
  return solver.check("collectives: " + protocol.name + ", two members part", {part});
}

}  // namespace ripeline::verify
