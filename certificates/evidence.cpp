#include "certificates/evidence.h"

#include <map>

#include <fmt/format.h>

#include "certificates/order_evidence.h"
#include "verify/group/conditions.h"
#include "verify/group/protocol.h"
#include "verify/group/protocol_every_size.h"
#include "verify/group/reductions.h"
#include "verify/judge/bounds.h"
#include "verify/ready/classes.h"
#include "verify/ready/counter_queries.h"
#include "verify/ready/linear.h"
#include "verify/solver/solver.h"
#include "verify/verdict.h"

namespace ripeline::certificates {

using spec::Program;
using verify::Method;
using verify::ObligationKind;
using verify::Outcome;
using verify::Term;

namespace {

std::string linear_text(const Program& program, const verify::Linear& linear) {
  std::string text;
  const auto add = [&](std::int64_t factor, const std::string& name) {
    if (factor == 0) return;
    text += text.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
    const std::int64_t size = factor < 0 ? -factor : factor;
    if (size != 1 || name.empty()) text += std::to_string(size) + (name.empty() ? "" : " ");
    text += name;
  };
  for (const auto& [lane, factor] : linear.lanes) add(factor, program.lane_name(lane));
  for (const auto& [share, factor] : linear.microbatches) {
    add(factor, share.is_all() ? "microbatches"
                               : fmt::format("microbatches of every {} ({:#x})", share.period,
                                             share.remainders));
  }
  add(linear.constant, "");
  return text.empty() ? "0" : text;
}

class EvidenceBuilder {
 public:
  EvidenceBuilder(const Program& program, const std::vector<Claim>& claims)
      : program_(program),
        claims_(claims),
        conditions_(program),
        reductions_(program),
        order_(program, found_) {}

  Evidence run() {
    bool claimed = false;
    for (const Claim& c : claims_) claimed = claimed || c.outcome != Outcome::unknown;
    if (claimed && !program_.unsupported.empty()) {
      gap("The program uses what certificates do not cover.");
      return std::move(found_);
    }
    for (const Claim& claim : claims_) {
      if (claim.outcome == Outcome::proved) proved(without_states(claim));
      if (claim.outcome == Outcome::refuted) refuted(claim);
    }
    if (counters_needed_) add_induction();
    for (const Question& question : agreement_) found_.questions.push_back(question);
    if (counters_) {
      const std::size_t all = counters_->solver().required();
      for (const AskedTerms& a : asked_) {
        const std::size_t before = counters_->required_before_invariant();
        found_.questions.push_back(question_of(a.name, counters_->solver(), a.terms,
                                               a.invariant ? all : before, a.satisfiable));
      }
    }
    order_.finish();
    return std::move(found_);
  }

 private:
  struct AskedTerms {
    std::string name;
    std::vector<Term> terms;
    bool satisfiable = false;
    bool invariant = true;  // the required terms include the invariant
  };

  void gap(const std::string& sentence) { found_.gaps.push_back(sentence); }

  const Claim* claim_of(ObligationKind obligation) const {
    for (const Claim& c : claims_) {
      if (c.obligation == obligation) return &c;
    }
    return nullptr;
  }
  bool once_is_proved() const {
    const Claim* once = claim_of(ObligationKind::once);
    return once != nullptr && once->outcome == Outcome::proved;
  }

  void proved(const Claim& claim) {
    const ObligationKind what = claim.obligation;
    const Method how = claim.method;
    const bool in_order = program_.dispatch.in_order;
    if (program_.dispatch.keeps >= 0 &&
        (what == ObligationKind::deadlock || how == Method::states)) {
      return gap(
          fmt::format("`{}` rests on `keeping`, which certificates cannot carry.", name_of(what)));
    }
    // Other proofs about an order are valid only if the order has each task once.
    if (in_order && what != ObligationKind::once && what != ObligationKind::collectives &&
        !once_is_proved()) {
      return gap(fmt::format("`{}` rests on `once`, which is not proved.", name_of(what)));
    }
    if (what == ObligationKind::deadlock && !of_all_replicas()) return;
    if (what == ObligationKind::collectives && replicas_agree()) {
      ask_whether_two_part(spec::Agree::intersection, "replicas");
      // If members issue no collectives, no more evidence is needed.
      if (how == Method::induction && (!group() || !conditions_.has_collectives())) return;
    }
    if (group() && what == ObligationKind::collectives) return agreement(how);
    if (group() && what == ObligationKind::deadlock && !of_all_members(claim)) return;
    if (how == Method::structure) {
      // These obligations hold by construction: see Judge in verify/judge/judge.h.
      const bool holds = what == ObligationKind::collectives ||
                         (what == ObligationKind::messages && once_is_proved()) ||
                         (what == ObligationKind::once && !in_order) ||
                         (what == ObligationKind::memory && only_capacities(claim));
      if (holds) return;
    }
    if (!in_order && (how == Method::counters || how == Method::states) &&
        what == ObligationKind::deadlock) {
      return ready(claim, counters().stuck(), "deadlock: a stuck state");
    }
    if (!in_order && (how == Method::counters || how == Method::states) &&
        what == ObligationKind::memory) {
      return ready_memory(claim);
    }
    if (in_order && order_.proved(claim)) return;
    gap(fmt::format("`{}` by `{}` is not what certificates can carry.", name_of(what),
                    name_of(how)));
  }

  bool group() const { return program_.tensor_parallel.members > 1; }

  // Evidence that a group's members issue the same collectives: see verify/group/group_judge.h.
  void agreement(Method how) {
    const bool none = !conditions_.has_collectives() || program_.dispatch.in_order;
    if (how == Method::structure && none) return;
    if (how == Method::counters && conditions_.alone() && !program_.dispatch.in_order &&
        !conditions_.doubt_of_pools()) {
      return ask("collectives: a choice", {some_choice(program_, counters())});
    }
    if (how == Method::induction && !conditions_.alone() && !conditions_.turns_that_differ()) {
      return ask_whether_two_part(program_.tensor_parallel.agree, "members");
    }
    gap(fmt::format("`collectives` by `{}` is not what certificates can carry.", name_of(how)));
  }

  void ask_whether_two_part(spec::Agree agree, const char* who) {
    verify::Solver solver(verify::SolverUse::writing());
    const verify::Protocol protocol = verify::right_protocol(agree);
    const Term part = two_members_part(protocol, solver);
    agreement_.push_back(
        question_of(fmt::format("collectives: {}, two {} part", protocol.name, who), solver, {part},
                    solver.required(), false));
  }

  bool replicas_agree() const { return reductions_.any() && !reductions_.in_order(); }

  // True if the proof for one replica holds for all: see verify/group/replica_judge.h.
  bool of_all_replicas() {
    if (!reductions_.any()) return true;
    const Claim* collectives = claim_of(ObligationKind::collectives);
    if (collectives == nullptr || collectives->outcome != Outcome::proved) {
      gap("`deadlock` rests on `collectives`, which is not proved.");
      return false;
    }
    if (const auto doubt = reductions_.doubt()) {
      gap(doubt->text);
      return false;
    }
    return true;
  }

  // Adds the evidence for a group; returns true if evidence about one member is needed as well.
  bool of_all_members(const Claim& claim) {
    if (!conditions_.has_collectives()) return true;
    const Claim* collectives = claim_of(ObligationKind::collectives);
    if (collectives == nullptr || collectives->outcome != Outcome::proved) {
      gap("`deadlock` rests on `collectives`, which is not proved.");
      return false;
    }
    if (claim.method == Method::members) {
      visit_all(claim.obligation, program_.tensor_parallel.members);
      return false;
    }
    if (const auto doubt = conditions_.doubt_of_pools()) {
      gap(doubt->text);
      return false;
    }
    for (const int edge : conditions_.edges_that_must_fit()) {
      const int inbox = at(program_.edges, edge).inbox;
      if (program_.dispatch.in_order) {
        gap(fmt::format("Members may hold different messages of {}.", program_.inbox_name(inbox)));
        return false;
      }
      ask(fmt::format("deadlock: {} is too small", program_.inbox_name(inbox)),
          {more_than_slots(program_, counters(), inbox)});
    }
    return true;
  }

  void visit_all(ObligationKind obligation, int members) {
    const std::vector<int> counts = counts_in_range(program_);
    if (counts.empty()) return gap("Too many states would have to be visited.");
    for (const int m : counts) found_.explorations.push_back({obligation, m, members});
  }

  // Returns the claim without peaks that visits of states prove, and adds explorations for those.
  Claim without_states(const Claim& claim) {
    const bool any =
        std::find(claim.by_states.begin(), claim.by_states.end(), true) != claim.by_states.end();
    const bool method_visits = program_.dispatch.in_order && claim.method == Method::states;
    if (!any || method_visits) return claim;
    Claim rest = claim;
    rest.peaks = peaks_by_method(program_, claim);
    rest.by_states.clear();
    std::vector<std::optional<std::int64_t>> shown(claim.peaks.size());
    for (std::size_t p = 0; p < shown.size(); ++p) {
      if (claim.by_states[p]) shown[p] = claim.peaks[p];
    }
    const std::vector<int> counts = counts_in_range(program_);
    if (counts.empty()) gap("Too many states would have to be visited.");
    for (const int m : counts) found_.explorations.push_back({claim.obligation, m, 1, shown});
    return rest;
  }

  // True if the claim holds by construction: its peaks are capacities, and guards enforce these.
  bool only_capacities(const Claim& claim) const {
    return program_.dispatch.in_order && program_.assertions.empty() &&
           peaks_are_capacities(program_, claim);
  }

  void refuted(const Claim& claim) {
    const ObligationKind what = claim.obligation;
    const bool group_parts = group() && what == ObligationKind::collectives;
    if (what != ObligationKind::deadlock && what != ObligationKind::memory &&
        what != ObligationKind::once && !group_parts) {
      return gap(
          fmt::format("A refutation of `{}` is not what certificates can carry.", name_of(what)));
    }
    if (!program_.microbatches.contains(claim.microbatches) ||
        too_many_tasks(program_, {claim.microbatches})) {
      return gap(fmt::format("{} microbatches are out of range or too many.", claim.microbatches));
    }
    if (what == ObligationKind::deadlock && program_.dispatch.in_order) order_.refuted(claim);
  }

  // --- readiness-first dispatch ---

  verify::CounterQueries& counters() {
    if (!counters_) {
      classes_ = verify::by_classes(program_);
      counters_.emplace(classes_ ? classes_->program : program_, verify::SolverUse::writing());
    }
    return *counters_;
  }

  // Adds the counters' question for all microbatch counts except those whose states were visited.
  void ready(const Claim& claim, Term bad, const std::string& name) {
    std::vector<Term> terms = {bad};
    if (claim.method == Method::states) {
      if (too_many_tasks(program_, claim.counts))
        return gap("Too many states would have to be visited.");
      for (const int m : claim.counts) {
        found_.explorations.push_back({claim.obligation, m, 1});
        terms.push_back(!(counters().microbatches() == counters().solver().number(m)));
      }
      if (covers_range(program_, claim.counts)) return;
    }
    ask(name, terms);
  }

  void ready_memory(const Claim& claim) {
    const auto asserted = asserted_bounds(program_, counters().solver(), counters().microbatches());
    if (!asserted.ok()) return gap("An asserted bound is not linear.");
    std::vector<Term> beyond;
    std::vector<Term> broken;
    std::vector<Term> above;
    for (int p = 0; p < size_of(program_.pools); ++p) {
      const auto& capacity = at(program_.pools, p).capacity;
      if (capacity) {
        beyond.push_back(counters().start_above(p, counters().solver().number(*capacity)));
      }
      const auto& peak = at(claim.peaks, p);
      // With method `states` no question is needed, since Machine enforces capacities (see below).
      const bool guarded = claim.method == Method::states && peak == capacity;
      if (peak && !guarded) {
        above.push_back(counters().holds_above(p, counters().solver().number(*peak)));
      }
    }
    for (const verify::AssertedBound& b : asserted.value()) {
      broken.push_back(counters().start_above(b.pool, b.bound));
    }
    // Machine, which visits the states, enforces the capacities itself.
    if (claim.method == Method::counters && !beyond.empty()) {
      ask("memory: a capacity exceeded", {counters().solver().any_of(beyond)});
    }
    if (!broken.empty() || claim.method == Method::states) {
      ready(claim, counters().solver().any_of(broken), "memory: an assertion broken");
    }
    if (!above.empty()) ask("memory: a peak exceeded", {counters().solver().any_of(above)});
  }

  void ask(const std::string& name, std::vector<Term> terms) {
    if (const auto beyond = verify::beyond_counters(counters().program())) {
      return gap("Counts cannot follow the program: " + *beyond + ".");
    }
    counters_needed_ = true;
    asked_.push_back({name, std::move(terms)});
  }

  // The questions of the induction are first in the certificate, since all others depend on it.
  void add_induction() {
    std::vector<AskedTerms> first;
    first.push_back({"invariant: broken at the start",
                     {counters().at_start(), counters().invariant_broken()},
                     false,
                     false});
    first.push_back({"invariant: some state has it", {counters().at_start()}, true, true});
    const Program& counted = counters().program();
    for (int lane = 0; lane < size_of(counted.lanes); ++lane) {
      first.push_back(
          {"invariant: broken by " + counted.lane_name(lane), {counters().broken_by_start(lane)}});
    }
    asked_.insert(asked_.begin(), first.begin(), first.end());
    for (const verify::Linear& fact : counters().counters().invariant) {
      found_.invariant.push_back("0 <= " + linear_text(counted, fact));
    }
    found_.invariant_smtlib =
        counters().solver().script("The invariant: what each state that is reached satisfies.", {},
                                   counters().solver().required());
  }

  const Program& program_;
  const std::vector<Claim>& claims_;
  Evidence found_;
  std::unique_ptr<const verify::ByClasses> classes_;
  std::optional<verify::CounterQueries> counters_;  // for the program of classes_, if any
  std::vector<AskedTerms> asked_;                   // in terms of counters_
  bool counters_needed_ = false;
  std::vector<Question> agreement_;  // among members or replicas
  verify::GroupConditions conditions_;
  verify::Reductions reductions_;
  OrderEvidence order_;
};

}  // namespace

std::vector<Claim> claims_of(const Program& program, const verify::Verdict& verdict) {
  std::vector<Claim> claims;
  for (const verify::Obligation& o : verdict.obligations) {
    Claim claim{.obligation = o.kind, .outcome = o.outcome, .method = o.method};
    if (o.outcome == Outcome::proved) claim.counts = o.counts;
    // A claim about every number of ranks has no peaks.
    if (o.kind == ObligationKind::memory && o.outcome == Outcome::proved &&
        !verdict.every_rank_from) {
      std::map<int, std::size_t> next;
      for (const spec::Pool& pool : program.pools) {
        const auto& peaks = o.peak.at(at(program.resources, pool.resource).name);
        const auto& peak = peaks[next[pool.resource]++];
        claim.peaks.push_back(peak ? std::optional(peak->bound) : std::nullopt);
        claim.by_states.push_back(peak && peak->by_states);
      }
    }
    if (o.outcome == Outcome::refuted && o.counterexample) {
      claim.microbatches = o.counterexample->microbatches;
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<std::optional<std::int64_t>> peaks_by_method(const Program& program,
                                                         const Claim& claim) {
  std::vector<std::optional<std::int64_t>> peaks = claim.peaks;
  for (std::size_t p = 0; p < claim.by_states.size(); ++p) {
    if (claim.by_states[p]) peaks[p] = program.pools[p].capacity;
  }
  return peaks;
}

Evidence evidence_for(const Program& program, const std::vector<Claim>& claims) {
  return EvidenceBuilder(program, claims).run();
}

}  // namespace ripeline::certificates
