#include "verify/evidence/evidence.h"

#include <array>
#include <list>
#include <map>

#include <fmt/format.h>

#include "verify/judges.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// Beyond this a certificate would list more tasks than anyone wants to read.
constexpr std::int64_t kMostTasks = 4'000'000;

std::string linear_text(const Program& program, const Linear& linear) {
  std::string text;
  const auto add = [&](std::int64_t factor, const std::string& name) {
    if (factor == 0) return;
    text += text.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
    const std::int64_t size = factor < 0 ? -factor : factor;
    if (size != 1 || name.empty()) text += std::to_string(size) + (name.empty() ? "" : " ");
    text += name;
  };
  for (const auto& [lane, factor] : linear.lanes) add(factor, program.lane_name(lane));
  add(linear.microbatches, "microbatches");
  add(linear.constant, "");
  return text.empty() ? "0" : text;
}

// A run of a committed order ends where a rank's next task waits for one that another rank, or the
// same one, would do only later: from that task on, each before the next, and around.
class CycleSearch {
 public:
  CycleSearch(const Program& program, int microbatches)
      : program_(program), microbatches_(microbatches), result_(run_order(program, microbatches)) {
    if (result_.invalid || result_.finished || has_other_engines(program)) return;
    const spec::Order& order = at(program.orders, program.dispatch.order);
    done_.assign(program.lanes.size(), 0);
    std::vector<std::size_t> position(static_cast<std::size_t>(program.ranks), 0);
    for (const Task& task : result_.run) {
      ++at(done_, task.lane);
      ++at(position, at(program.lanes, task.lane).rank);
    }
    for (int rank = 0; rank < program.ranks; ++rank) {
      const auto tasks = expand(program, order, rank, microbatches);
      rest_.emplace_back();
      const std::size_t first = std::min(at(position, rank), tasks.value().size());
      for (std::size_t i = first; i < tasks.value().size(); ++i) {
        rest_.back().push_back({tasks.value()[i].lane, tasks.value()[i].microbatch});
      }
    }
  }

  [[nodiscard]] const OrderRunResult& result() const { return result_; }

  // Empty: there is none, so the run ends for want of room or of a task that the order lacks.
  [[nodiscard]] std::vector<Task> find() const {
    for (int first = 0; first < size_of(rest_); ++first) {
      std::vector<int> chain;       // ranks; each waits for a task of the next
      std::vector<std::size_t> to;  // the index of that task in the next rank's rest
      for (int rank = first; rank >= 0;) {
        const auto seen = std::find(chain.begin(), chain.end(), rank);
        if (seen != chain.end()) return cycle(chain, to, seen - chain.begin());
        chain.push_back(rank);
        const auto [next, index] = waits_for(rank);
        rank = next;
        to.push_back(index);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::pair<int, std::size_t> waits_for(int rank) const {
    if (at(rest_, rank).empty()) return {-1, 0};
    const Task task = at(rest_, rank).front();
    if (task.microbatch >= microbatches_) return {-1, 0};  // beyond the last: it never starts
    for (const int edge : at(program_.lanes, task.lane).edges) {
      const int producer = at(program_.edges, edge).producer;
      // Cycles by way of other microbatches and engines are not looked for.
      if (at(program_.edges, edge).of != spec::Of::same) continue;
      if (at(done_, producer) > task.microbatch) continue;
      const int other = at(program_.lanes, producer).rank;
      const auto& tasks = at(rest_, other);
      const auto found = std::find(tasks.begin(), tasks.end(), Task{producer, task.microbatch});
      if (found != tasks.end()) return {other, static_cast<std::size_t>(found - tasks.begin())};
    }
    return {-1, 0};
  }

  [[nodiscard]] std::vector<Task> cycle(const std::vector<int>& chain,
                                        const std::vector<std::size_t>& to,
                                        std::ptrdiff_t start) const {
    std::vector<Task> tasks;
    // Against the waits: what is waited for comes before who waits. A rank whose first task is
    // waited for adds that task alone.
    for (std::size_t i = chain.size(); i-- > static_cast<std::size_t>(start);) {
      const std::size_t next = i + 1 == chain.size() ? static_cast<std::size_t>(start) : i + 1;
      const auto& rest = at(rest_, chain[next]);
      tasks.insert(tasks.end(), rest.begin(),
                   rest.begin() + static_cast<std::ptrdiff_t>(to[i]) + 1);
    }
    return tasks;
  }

  const Program& program_;
  int microbatches_;
  OrderRunResult result_;
  std::vector<int> done_;                // per lane
  std::vector<std::vector<Task>> rest_;  // per rank: what has not run, in its order
};

std::string task_list(const Program& program, const std::string& word, const Run& run) {
  std::string line = word;
  for (const Task& task : run) line += " " + program.task_name(task.lane, task.microbatch);
  return line + "\n";
}

// A rendezvous: what its sender's engine does next comes after what its receiver's engine does
// before the task that takes the message.
std::string handover_text(const Program& program, const std::vector<Run>& orders,
                          int microbatches) {
  std::string text;
  for (const spec::Edge& edge : program.edges) {
    if (!edge.rendezvous) continue;
    const auto order_of = [&](int lane) -> const Run& {
      const spec::Lane& l = at(program.lanes, lane);
      return orders[spec::engine_index(l.rank, l.engine)];
    };
    const Run& senders = order_of(edge.producer);
    const Run& receivers = order_of(edge.consumer);
    for (std::size_t i = 0; i + 1 < senders.size(); ++i) {
      const int taker = senders[i].lane == edge.producer
                            ? program.needed_by(edge, senders[i].microbatch, microbatches)
                            : -1;
      const auto found = std::find(receivers.begin(), receivers.end(), Task{edge.consumer, taker});
      if (taker < 0 || found == receivers.begin() || found == receivers.end()) continue;
      const Task& before = *std::prev(found);
      text += fmt::format("need {} {}\n", program.task_name(before.lane, before.microbatch),
                          program.task_name(senders[i + 1].lane, senders[i + 1].microbatch));
    }
  }
  return text;
}

// Nothing: the order has no meaning for this count.
std::optional<std::string> graph_text(const Program& program, int microbatches) {
  std::string text = fmt::format("ripeline.graph/1\nmicrobatches {}\n", microbatches);
  Run all;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (int m = 0; m < program.tasks_of(lane, microbatches); ++m) all.push_back({lane, m});
  }
  text += task_list(program, "tasks", all);
  std::vector<Run> orders;  // per rank and engine
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto tasks =
        expand(program, at(program.orders, program.dispatch.order), rank, microbatches);
    if (!tasks.ok()) return std::nullopt;
    std::array<Run, spec::kEngines> engines;
    for (const spec::OrderTask& task : tasks.value()) {
      const auto engine = static_cast<std::size_t>(at(program.lanes, task.lane).engine);
      engines[engine].push_back({task.lane, task.microbatch});
    }
    for (Run& run : engines) {
      if (!run.empty()) text += task_list(program, "rank", run);
      orders.push_back(std::move(run));
    }
  }
  for (const spec::Edge& edge : program.edges) {
    for (int m = 0; m < program.tasks_of(edge.consumer, microbatches); ++m) {
      const auto [first, last] = program.needed(edge, m, microbatches);
      for (int needed = first; needed < last; ++needed) {
        text += fmt::format("need {} {}\n", program.task_name(edge.producer, needed),
                            program.task_name(edge.consumer, m));
      }
    }
  }
  return text + handover_text(program, orders, microbatches);
}

class Gathering {
 public:
  Gathering(const Program& program, const std::vector<Claim>& claims)
      : program_(program), claims_(claims) {}

  Evidence run() {
    bool claimed = false;
    for (const Claim& c : claims_) claimed = claimed || c.outcome != Outcome::unknown;
    if (claimed && (!program_.unsupported.empty() || program_.tensor_parallel.members > 1)) {
      gap("The program uses what certificates do not cover.");
      return std::move(found_);
    }
    for (const Claim& claim : claims_) {
      if (claim.outcome == Outcome::proved) proved(claim);
      if (claim.outcome == Outcome::refuted) refuted(claim);
    }
    if (counters_needed_) add_induction();
    if (counters_) write(*counters_, asked_);
    for (Cuts& cuts : cuts_) write(cuts.queries, cuts.asked);
    add_graphs();
    return std::move(found_);
  }

 private:
  struct Asked {
    std::string name;
    std::vector<Term> terms;
    bool satisfiable = false;
    bool invariant = true;  // what is required includes the invariant
  };

  void gap(const std::string& sentence) { found_.gaps.push_back(sentence); }

  const Claim* claim_of(const std::string& obligation) const {
    for (const Claim& c : claims_) {
      if (c.obligation == obligation) return &c;
    }
    return nullptr;
  }
  bool once_is_proved() const {
    const Claim* once = claim_of("once");
    return once != nullptr && once->outcome == Outcome::proved;
  }

  void proved(const Claim& claim) {
    const std::string& what = claim.obligation;
    const std::string& how = claim.method;
    const bool in_order = program_.dispatch.in_order;
    // An order's other proofs hold of orders that have each task once.
    if (in_order && what != "once" && what != "collectives" && !once_is_proved()) {
      return gap(fmt::format("`{}` rests on `once`, which is not proved.", what));
    }
    if (how == "structure") {
      // By how programs are made: see Judge in verify.cpp.
      const bool holds = what == "collectives" || (what == "messages" && once_is_proved()) ||
                         (what == "once" && !in_order) ||
                         (what == "memory" && only_capacities(claim));
      if (holds) return;
    }
    if (!in_order && (how == "counters" || how == "states") && what == "deadlock") {
      return ready(claim, counters().stuck(), "deadlock: a stuck state");
    }
    if (!in_order && (how == "counters" || how == "states") && what == "memory") {
      return ready_memory(claim);
    }
    if (in_order && how == "cuts" && what != "messages") return by_cuts(claim);
    if (in_order && how == "graph" && what != "messages") return by_graph(claim);
    gap(fmt::format("`{}` by `{}` is not what certificates can carry.", what, how));
  }

  // Guards keep to the capacities; nothing else is claimed.
  bool only_capacities(const Claim& claim) const {
    if (!program_.dispatch.in_order || !program_.assertions.empty()) return false;
    for (int p = 0; p < size_of(program_.pools); ++p) {
      if (at(claim.peaks, p) != at(program_.pools, p).capacity) return false;
    }
    return true;
  }

  void refuted(const Claim& claim) {
    const std::string& what = claim.obligation;
    if (what != "deadlock" && what != "memory" && what != "once") {
      return gap(fmt::format("A refutation of `{}` is not what certificates can carry.", what));
    }
    if (!program_.microbatches.contains(claim.microbatches) || too_many({claim.microbatches})) {
      return gap(fmt::format("{} microbatches are out of range or too many.", claim.microbatches));
    }
    if (what == "deadlock" && program_.dispatch.in_order &&
        !CycleSearch(program_, claim.microbatches).find().empty()) {
      graphs_[claim.microbatches].cycle = true;
    }
  }

  // --- readiness-first dispatch ---

  CounterQueries& counters() {
    if (!counters_) {
      counters_.emplace(program_, count(program_, Fault::none), SolverUse::writing(), Fault::none);
    }
    return *counters_;
  }

  // For all counts by counters, but for those whose states were all visited.
  void ready(const Claim& claim, Term bad, const std::string& name) {
    std::vector<Term> terms = {bad};
    if (claim.method == "states") {
      if (too_many(claim.counts)) return gap("Too many states would have to be visited.");
      for (const int m : claim.counts) {
        found_.explorations.push_back({claim.obligation, m});
        terms.push_back(!(counters().microbatches() == counters().solver().number(m)));
      }
      if (covers_range(claim.counts)) return;
    }
    ask(name, terms);
  }

  void ready_memory(const Claim& claim) {
    const AssertedBounds asserted =
        asserted_bounds(program_, counters().solver(), counters().microbatches(), Fault::none);
    if (!asserted.problem.empty()) return gap("An asserted bound is not linear.");
    std::vector<Term> beyond;
    std::vector<Term> broken;
    std::vector<Term> above;
    for (int p = 0; p < size_of(program_.pools); ++p) {
      const auto& capacity = at(program_.pools, p).capacity;
      if (capacity) {
        beyond.push_back(counters().start_above(p, counters().solver().number(*capacity)));
      }
      const auto& peak = at(claim.peaks, p);
      if (peak) above.push_back(counters().holds_above(p, counters().solver().number(*peak)));
    }
    for (const AssertedBound& b : asserted.bounds) {
      broken.push_back(counters().start_above(b.pool, b.bound));
    }
    // Machine, which the states are visited with, keeps to the capacities itself.
    if (claim.method == "counters" && !beyond.empty()) {
      ask("memory: a capacity exceeded", {counters().solver().any_of(beyond)});
    }
    if (!broken.empty() || claim.method == "states") {
      ready(claim, counters().solver().any_of(broken), "memory: an assertion broken");
    }
    if (!above.empty()) ask("memory: a peak exceeded", {counters().solver().any_of(above)});
  }

  void ask(const std::string& name, std::vector<Term> terms) {
    counters_needed_ = true;
    asked_.push_back({name, std::move(terms)});
  }

  // First in the certificate: all else rests on it.
  void add_induction() {
    std::vector<Asked> first;
    first.push_back({"invariant: broken at the start",
                     {counters().at_start(), counters().invariant_broken()},
                     false,
                     false});
    first.push_back({"invariant: some state has it", {counters().at_start()}, true, true});
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      first.push_back(
          {"invariant: broken by " + program_.lane_name(lane), {counters().broken_by_start(lane)}});
    }
    asked_.insert(asked_.begin(), first.begin(), first.end());
    for (const Linear& fact : counters().counters().invariant) {
      found_.invariant.push_back("0 <= " + linear_text(program_, fact));
    }
    found_.invariant_smtlib =
        counters().solver().script("The invariant: what each state that is reached satisfies.", {},
                                   counters().solver().required());
  }

  // --- committed orders ---

  // One for all counts, or one for each remainder of an order with streams.
  struct Cuts {
    explicit Cuts(const Program& program) : queries(program, SolverUse::writing(), Fault::none) {}
    Cuts(const Program& program, const PeriodicFamily& family, std::int64_t remainder)
        : queries(program, SolverUse::writing(), Fault::none, family, remainder),
          which(fmt::format(", remainder {} of {}", remainder, family.period)) {}

    CutQueries queries;
    std::string which;  // ends a question's name
    std::vector<Asked> asked;
  };

  // Whether there is something to ask; a gap otherwise.
  bool make_cuts() {
    if (!cuts_.empty()) return true;
    if (const std::string why = beyond_cuts(program_); !why.empty()) {
      gap("Cuts cannot follow the program: " + why + ".");
      return false;
    }
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    if (order.streams.empty()) {
      cuts_.emplace_back(program_);
      const std::string problem = cuts_.front().queries.problem();
      if (problem.empty()) {
        cuts_.front().asked.push_back({"places: some cut", {}, true});
        return true;
      }
      cuts_.clear();
      gap("The order's counts are not linear: " + problem + ".");
      return false;
    }
    const PeriodicFamily family = periodic_family(program_, order);
    if (!family.problem.empty()) {
      gap("The order has no period: " + family.problem + ".");
      return false;
    }
    for (std::int64_t remainder = 0; remainder < family.period; ++remainder) {
      cuts_.emplace_back(program_, family, remainder);
    }
    first_by_cuts_ = family.first_microbatches();
    return true;
  }

  void by_cuts(const Claim& claim) {
    if (!make_cuts()) return;
    for (Cuts& cuts : cuts_) ask_cuts(claim, cuts);
    // Of an order with streams, the counts below are judged by themselves.
    if (first_by_cuts_ > program_.microbatches.min) by_graph_until(claim, first_by_cuts_);
  }

  void ask_cuts(const Claim& claim, Cuts& cuts) {
    const auto ask = [&](const std::string& name, Term bad) {
      cuts.asked.push_back({name + cuts.which, {bad}});
    };
    if (claim.obligation == "once") {
      ask("once: an order that is not each task once", cuts.queries.not_once());
    } else if (claim.obligation == "deadlock") {
      if (!has_other_engines(program_)) {
        ask("deadlock: a place without room", cuts.queries.no_room());
      }
      ask("deadlock: a stuck cut", cuts.queries.stuck_cut());
      if (!program_.inboxes.empty()) ask("deadlock: an inbox overfull", cuts.queries.overfull());
    } else if (claim.obligation == "memory") {
      Solver& solver = cuts.queries.solver();
      const AssertedBounds asserted =
          asserted_bounds(program_, solver, cuts.queries.microbatches(), Fault::none);
      if (!asserted.problem.empty()) return gap("An asserted bound is not linear.");
      std::vector<Term> broken;
      std::vector<Term> above;
      for (const AssertedBound& b : asserted.bounds) {
        broken.push_back(cuts.queries.above(b.pool, b.bound));
      }
      for (int p = 0; p < size_of(program_.pools); ++p) {
        const auto& peak = at(claim.peaks, p);
        if (peak) above.push_back(cuts.queries.above(p, solver.number(*peak)));
      }
      if (!broken.empty()) ask("memory: an assertion broken", solver.any_of(broken));
      if (!above.empty()) ask("memory: a peak exceeded", solver.any_of(above));
    }
  }

  void by_graph(const Claim& claim) {
    const auto& range = program_.microbatches;
    if (!range.max) return gap("So many graphs are not what certificates can carry.");
    by_graph_until(claim, std::int64_t{*range.max} + 1);
  }

  void by_graph_until(const Claim& claim, std::int64_t end) {
    if (claim.obligation == "deadlock" && !program_.inboxes.empty()) {
      return gap("Slots under a committed order, count by count, are not what certificates carry.");
    }
    const auto& range = program_.microbatches;
    std::vector<int> counts;
    if (end - range.min < kMostTasks) {
      for (std::int64_t m = range.min; m < end && m <= range.max.value_or(m); ++m) {
        counts.push_back(static_cast<int>(m));
      }
    }
    if (counts.empty() || too_many(counts)) {
      return gap("So many graphs are not what certificates can carry.");
    }
    for (const int m : counts) {
      GraphEvidence& graph = graphs_[m];
      graph.once = graph.once || claim.obligation == "once";
      graph.order = graph.order || claim.obligation == "deadlock";
      graph.run = graph.run || claim.obligation == "deadlock" || claim.obligation == "memory";
    }
  }

  void add_graphs() {
    for (auto& [m, graph] : graphs_) {
      const auto text = graph_text(program_, m);
      if (!text) {
        gap(fmt::format("The order has no meaning with {} microbatches.", m));
        continue;
      }
      graph.microbatches = m;
      graph.text = *text;
      found_.graphs.push_back(graph);
    }
  }

  // --- both ---

  bool covers_range(const std::vector<int>& counts) const {
    if (!program_.microbatches.max) return false;
    for (int m = program_.microbatches.min; m <= *program_.microbatches.max; ++m) {
      if (std::find(counts.begin(), counts.end(), m) == counts.end()) return false;
    }
    return true;
  }

  bool too_many(const std::vector<int>& counts) const {
    std::int64_t tasks = 0;
    for (const int m : counts) {
      tasks += std::int64_t{m} * size_of(program_.lanes);
      if (tasks > kMostTasks) return true;
    }
    return false;
  }

  template <class Queries>
  void write(Queries& queries, const std::vector<Asked>& asked) {
    const std::size_t all = queries.solver().required();
    for (const Asked& a : asked) {
      std::size_t required = all;
      if constexpr (std::is_same_v<Queries, CounterQueries>) {
        if (!a.invariant) required = queries.required_before_invariant();
      }
      const std::string title =
          fmt::format("{}\n; {} when the claim is right", a.name, a.satisfiable ? "sat" : "unsat");
      found_.questions.push_back(
          {a.name, queries.solver().script(title, a.terms, required), a.satisfiable});
    }
  }

  const Program& program_;
  const std::vector<Claim>& claims_;
  Evidence found_;
  std::optional<CounterQueries> counters_;
  std::vector<Asked> asked_;  // of counters_
  bool counters_needed_ = false;
  std::list<Cuts> cuts_;
  std::int64_t first_by_cuts_ = 0;  // the fewest microbatches that cuts_ are for
  std::map<int, GraphEvidence> graphs_;
};

}  // namespace

std::vector<Claim> claims_of(const Program& program, const Verdict& verdict) {
  std::vector<Claim> claims;
  for (const Obligation& o : verdict.obligations) {
    Claim claim{.obligation = o.name, .outcome = o.outcome, .method = o.method};
    if (o.outcome == Outcome::proved) claim.counts = o.counts;
    if (o.name == "memory" && o.outcome == Outcome::proved) {
      std::map<int, std::size_t> next;
      for (const spec::Pool& pool : program.pools) {
        const auto& peaks = o.peak.at(at(program.resources, pool.resource).name);
        claim.peaks.push_back(peaks[next[pool.resource]++]);
      }
    }
    if (o.outcome == Outcome::refuted && o.counterexample) {
      claim.microbatches = o.counterexample->microbatches;
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

Evidence evidence_for(const Program& program, const std::vector<Claim>& claims) {
  return Gathering(program, claims).run();
}

std::string graph_witness(const Program& program, int microbatches) {
  const CycleSearch search(program, microbatches);
  std::string text = task_list(program, "order", search.result().run);
  const std::vector<Task> cycle = search.find();
  if (!cycle.empty()) text += task_list(program, "cycle", cycle);
  return text;
}

}  // namespace ripeline::verify
