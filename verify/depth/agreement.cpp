#include "verify/depth/agreement.h"

#include <map>

#include <fmt/format.h>

#include "verify/depth/depth_terms.h"
#include "verify/depth/exact.h"
#include "verify/judge/bounds.h"
#include "verify/ready/counters.h"
#include "verify/ready/linear.h"
#include "verify/solver/solver.h"

namespace ripeline::verify::depth {

using spec::Program;

namespace {

class Comparison {
 public:
  Comparison(const Shape& shape, const Program& program, const SolverUse& use)
      : shape_(shape), program_(program), terms_(shape, use), solver_(terms_.solver()) {}

  // The name of the first part that may differ; nullopt if none may.
  std::optional<std::string> run() {
    solver_.require(terms_.ranks() == solver_.number(program_.ranks));
    if (program_.stages.size() != static_cast<std::size_t>(shape_.chunks * program_.ranks)) {
      return "the number of stages";
    }
    compare_lanes();
    if (what_) return what_;
    compare_guards();
    compare_assertions();
    compare_range();
    const Answer answer = solver_.check("depth: agreement", {solver_.any_of(differences_)});
    if (answer != Answer::unsat) return "a guard, a bound or the range";
    return shape_.in_order ? compare_orders() : std::nullopt;
  }

 private:
  Term number(std::int64_t value) { return solver_.number(value); }
  void differ(Term condition) { differences_.push_back(condition); }
  void must_be_equal(Term a, Term b) { differ(!(a == b)); }
  void must_agree(Term a, Term b) {
    differ(solver_.all_of({a, !b}));
    differ(solver_.all_of({!a, b}));
  }

  int lane_of(const Family& family, int rank) const {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const spec::Lane& l = at(program_.lanes, lane);
      if (l.op == family.op && l.chunk == family.chunk && l.rank == rank) return lane;
    }
    return -1;
  }

  void compare_lanes() {
    done_.assign(program_.lanes.size(), number(0));
    family_.assign(program_.lanes.size(), Family{-1, -1});
    std::size_t known = 0;
    for (const Family& family : terms_.families()) {
      for (int rank = 0; rank < program_.ranks; ++rank) {
        const int lane = lane_of(family, rank);
        const Term exists = terms_.exists(family, number(rank));
        differ(lane < 0 ? exists : !exists);
        if (lane < 0) continue;
        ++known;
        at(done_, lane) = terms_.unknown_count(family, number(rank));
        at(family_, lane) = family;
        const spec::Lane& l = at(program_.lanes, lane);
        const ShapeOp& op = at(shape_.ops, family.op);
        if (l.sequential != op.sequential || l.engine != spec::Engine::compute) what_ = "an op";
        compare_uses(l, at(op.chunks, family.chunk));
      }
    }
    if (known != program_.lanes.size()) what_ = "the lanes";
  }

  // Compares the uses by resource, since there is one use for each pool.
  void compare_uses(const spec::Lane& lane, const OpAtChunk& here) {
    const auto same = [&](const auto& uses, const std::vector<Use>& read) {
      if (uses.size() != read.size()) return false;
      return std::all_of(uses.begin(), uses.end(), [&](const auto& use) {
        return std::any_of(read.begin(), read.end(), [&](const Use& r) {
          return r.resource == at(program_.pools, use.pool).resource && r.amount == use.amount;
        });
      });
    };
    if (!same(lane.acquires, here.acquires) || !same(lane.releases, here.releases)) {
      what_ = "an amount";
    }
  }

  Term term(const Linear& linear) {
    std::vector<Term> parts = {number(linear.constant)};
    for (const auto& [share, factor] : linear.microbatches) {
      if (!share.is_all()) differ(solver_.all_of({}));  // they differ: a shape has no shares
      parts.push_back(factor * terms_.microbatches());
    }
    for (const auto& [lane, factor] : linear.lanes) {
      if (lane < 0 || lane >= size_of(done_)) {
        differ(solver_.all_of({}));  // the linear form counts something else
        continue;
      }
      parts.push_back(factor * at(done_, lane));
    }
    return solver_.sum(parts);
  }
  Term all_of(const std::vector<Linear>& guards) {
    std::vector<Term> parts;
    for (const Linear& g : guards) parts.push_back(number(0) <= term(g));
    return solver_.all_of(parts);
  }

  void compare_guards() {
    const Counters counters = count(program_);
    const bool exact = !shape_.in_order && !inexact_reason(shape_);  // the shape claims exactness
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      const int rank = at(program_.lanes, lane).rank;
      const Term may = terms_.may_start(at(family_, lane), number(rank));
      must_agree(may, all_of(at(counters.starts, lane).may));
      if (exact) must_agree(may, all_of(at(counters.starts, lane).must.front()));
    }
    for (int pool = 0; pool < size_of(program_.pools); ++pool) {
      const spec::Pool& p = at(program_.pools, pool);
      const int chunk = p.stage < 0 ? 0 : at(program_.stages, p.stage).chunk;
      must_be_equal(terms_.held(p.resource, chunk, number(p.rank)), term(at(counters.held, pool)));
    }
  }

  void compare_assertions() {
    const auto asserted = asserted_bounds(program_, solver_, terms_.microbatches());
    if (!asserted.ok() || program_.assertions.size() != shape_.assertions.size()) {
      return differ(solver_.all_of({}));
    }
    for (const AssertedBound& bound : asserted.value()) {
      const auto index = static_cast<int>(bound.assertion - program_.assertions.data());
      const ShapeAssertion& read = at(shape_.assertions, index);
      const spec::Pool& pool = at(program_.pools, bound.pool);
      const int chunk = pool.stage < 0 ? 0 : at(program_.stages, pool.stage).chunk;
      must_be_equal(terms_.value(at(read.bound, chunk), number(pool.rank)), bound.bound);
    }
  }

  void compare_range() {
    const Term zero = number(0);
    must_be_equal(terms_.value(shape_.least_microbatches, zero), number(program_.microbatches.min));
    if (program_.microbatches.max.has_value() != shape_.most_microbatches.has_value()) {
      return differ(solver_.all_of({}));
    }
    if (!shape_.most_microbatches) return;
    must_be_equal(terms_.value(*shape_.most_microbatches, zero),
                  number(*program_.microbatches.max));
  }

  // Compares the orders' lists for a few counts, task by task.
  std::optional<std::string> compare_orders() {
    constexpr int kCounts = 4;
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    const auto& range = program_.microbatches;
    for (int m = range.min; m < range.min + kCounts && range.contains(m); ++m) {
      for (int rank = 0; rank < program_.ranks; ++rank) {
        const auto written = expand(program_, order, rank, m);
        if (!written.ok() || written.value() != listed(rank, m)) return "the order";
      }
    }
    return std::nullopt;
  }

  std::vector<spec::Task> listed(int rank, int microbatches) const {
    std::vector<spec::Task> found;
    std::map<int, int> next;  // per lane
    for (const ShapeRepeat& repeat : shape_.order) {
      const auto count = evaluate(repeat.count, [&](std::string_view name) {
        const int value = name == "r" ? rank : name == "ranks" ? program_.ranks : microbatches;
        return std::optional<spec::Rational>({value, 1});
      });
      const std::int64_t turns = count.ok() ? count.value().numerator : 0;
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        for (const ShapeStep& step : repeat.steps) {
          const int lane = lane_of({step.op, step.chunk}, rank);
          found.push_back({lane, next[lane]++});
        }
      }
    }
    return found;
  }

  const Shape& shape_;
  const Program& program_;
  DepthTerms terms_;
  Solver& solver_;
  std::vector<Term> done_;      // per lane
  std::vector<Family> family_;  // per lane
  std::vector<Term> differences_;
  std::optional<std::string> what_;
};

}  // namespace

std::optional<std::string> disagreement(const Shape& shape, const Program& program,
                                        const SolverUse& use) {
  const auto what = Comparison(shape, program, use).run();
  if (!what) return std::nullopt;
  return fmt::format(
      "The reading for every number of ranks was not shown to mean what the program means with {} "
      "rank{}: {} may differ.",
      program.ranks, program.ranks == 1 ? "" : "s", *what);
}

std::optional<std::string> not_well_formed(const Shape& shape, const SolverUse& use) {
  DepthTerms terms(shape, use);
  Solver& solver = terms.solver();
  const Term rank = solver.integer("rank");
  for (const Family& lane : terms.families()) {
    std::vector<Term> wrong;
    for (const Input& input : terms.inputs(lane, rank)) {
      wrong.push_back(solver.all_of({input.there, !terms.exists(input.lane, input.rank)}));
    }
    for (const Use& taken : at(at(shape.ops, lane.op).chunks, lane.chunk).acquires) {
      const ShapeResource& resource = at(shape.resources, taken.resource);
      const auto& capacity = at(resource.capacity, resource.per_rank ? 0 : lane.chunk);
      const Term leaving = terms.value(taken.leaving, rank);
      wrong.push_back(leaving < solver.number(0));
      if (!capacity) continue;
      wrong.push_back(terms.value(*capacity, rank) < leaving + solver.number(taken.amount));
    }
    if (wrong.empty()) continue;
    if (solver.check("depth: well formed", {terms.exists(lane, rank), solver.any_of(wrong)}) !=
        Answer::unsat) {
      return fmt::format(
          "That what {} needs exists and what it acquires fits could not be shown for every number "
          "of ranks.",
          terms.name_of(lane));
    }
  }
  return std::nullopt;
}

}  // namespace ripeline::verify::depth
