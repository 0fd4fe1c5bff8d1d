// The changes proposed depend on where a run gets stuck: at full pools, at links whose message is
// missing, or at joins. Without a run, changes of all pools and bounded links are proposed. All
// kinds of changes are in this file, since changes of two kinds may be paired.
#include "optimise/changes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "optimise/link_changes.h"
#include "optimise/tree_edits.h"
#include "spec/indexing.h"
#include "verify/verdict.h"

namespace ripeline::optimise {

using spec::Expr;
using spec::Program;
namespace ast = spec::ast;

namespace {

constexpr int kCapacityDoublings = 6;

class Builder {
 public:
  Builder(const ast::Pipeline& tree, const Program& program, const verify::Obligation& open)
      : tree_(tree), program_(program), open_(open) {}

  CandidateChanges run() {
    if (open_.kind == verify::ObligationKind::memory) {
      add_assertions();
      return std::move(found_);
    }
    read_waits();
    for (const int resource : full_) add_leaving(resource);
    const std::vector<CandidateChange> ordered = sequential();
    const std::vector<CandidateChange> linked = link_changes(tree_, links_);
    append(found_.first, ordered);
    append(found_.first, linked);
    for (const int resource : full_) add_numbers(resource, found_.first);
    for (int resource = 0; resource < size_of(program_.resources); ++resource) {
      if (std::find(full_.begin(), full_.end(), resource) != full_.end()) continue;
      add_numbers(resource, found_.last);
    }
    const std::vector<CandidateChange> roomy = capacities();
    append(found_.first, roomy);
    for (const CandidateChange& a : ordered) pair_up(a, linked);
    for (const CandidateChange& a : leaving_) pair_up(a, roomy);
    return std::move(found_);
  }

 private:
  static void append(std::vector<CandidateChange>& to, const std::vector<CandidateChange>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  void pair_up(const CandidateChange& one, const std::vector<CandidateChange>& others) {
    for (const CandidateChange& other : others) {
      found_.last.push_back(
          {[one, other](std::int64_t k) { return both(one.change(1), other.change(k)); },
           other.doublings, one.instead + other.instead, -1, 1, one.only_alone});
    }
  }

  // Finds the full pools and the links without a message for which tasks wait at the end of the
  // counterexample or, if there is none, of the run with other choices. Without a run, takes all.
  void read_waits() {
    const auto& run = open_.counterexample ? open_.counterexample : open_.other_choices;
    if (!run) {
      for (int i = 0; i < size_of(program_.resources); ++i) full_.push_back(i);
      for (const spec::Edge& edge : program_.edges) add_link(edge);
      return;
    }
    for (const verify::BlockedTask& wait : run->waits) {
      if (wait.block.why == spec::Block::Why::room || wait.block.why == spec::Block::Why::kept) {
        const int resource = at(program_.pools, wait.block.pool).resource;
        if (std::find(full_.begin(), full_.end(), resource) == full_.end()) {
          full_.push_back(resource);
        }
      } else if (wait.block.why == spec::Block::Why::need) {
        add_link(at(program_.edges, wait.block.edge));
      } else if (wait.block.why == spec::Block::Why::engine) {
        add_hand_overs(at(program_.lanes, wait.lane));
      }
    }
    if (!links_.empty()) return;
    for (const spec::Edge& edge : program_.edges) add_link(edge);
  }

  // Adds the rendezvous links on which the engine of this lane sends.
  void add_hand_overs(const spec::Lane& lane) {
    for (const spec::Edge& edge : program_.edges) {
      const spec::Lane& sender = at(program_.lanes, edge.producer);
      if (sender.rank == lane.rank && sender.engine == lane.engine && edge.rendezvous) {
        add_link(edge);
      }
    }
  }

  void add_link(const spec::Edge& edge) {
    if (edge.inbox < 0 && !edge.rendezvous) return;
    const bool known = std::any_of(links_.begin(), links_.end(),
                                   [&](spec::Span span) { return span == edge.span; });
    if (!known) links_.push_back(edge.span);
  }

  // The greatest number that divides all amounts of the resource.
  std::int64_t unit_of(int resource) const {
    std::int64_t unit = 0;
    for (const spec::Lane& lane : program_.lanes) {
      for (const spec::Acquire& a : lane.acquires) {
        if (at(program_.pools, a.pool).resource != resource) continue;
        unit = std::gcd(unit, std::gcd(a.amount, a.leaving));
      }
    }
    return std::max<std::int64_t>(unit, 1);
  }

  // Adds changes with which each stage of a rank leaves room for the rank's later stages.
  void add_leaving(int resource) {
    const spec::Resource& r = at(program_.resources, resource);
    const bool chunked = std::any_of(program_.stages.begin(), program_.stages.end(),
                                     [](const spec::Stage& stage) { return stage.chunk > 0; });
    if (!r.per_rank || !chunked) return;
    const std::string all = leaving(tree_, r.name, false).text;
    for (const bool forwards_only : {true, false}) {
      const std::string some = leaving(tree_, r.name, forwards_only).text;
      if (some.empty() || (forwards_only && some == all)) continue;
      CandidateChange candidate{[&tree = tree_, name = r.name, forwards_only](std::int64_t) {
                                  return leaving(tree, name, forwards_only);
                                },
                                0, "leaving " + r.name};
      leaving_.push_back(candidate);
      found_.first.push_back(std::move(candidate));
    }
  }

  // Adds changes with which one op leaves room, the same at every stage and usually for another op.
  // Adds none for a committed order, in which `leaving` could only block ranks.
  void add_numbers(int resource, std::vector<CandidateChange>& to) const {
    if (program_.dispatch.in_order) return;
    const std::string& name = at(program_.resources, resource).name;
    const std::int64_t unit = unit_of(resource);
    each_clause<ast::Acquires>(tree_, [&](const ast::Op& op, const ast::Acquires& clause) {
      if (clause.resource.text != name) return;
      const std::int64_t most = room_beside(op.name.text, resource) / unit;
      if (most < 1) return;
      const auto change = [op = op.name.text, clause, unit](std::int64_t k) {
        ast::Acquires written = clause;
        const Expr more = Expr::number(k * unit);
        written.leaving = clause.leaving ? plus(*clause.leaving, k * unit) : more;
        return Change{"leaving", fmt::format("`{}` in op {}", text_of(written), op),
                      clause.resource.span, [written](ast::Pipeline& tree) {
                        each_clause<ast::Acquires>(tree, [&](const ast::Op&, ast::Acquires& at) {
                          if (at.resource.span == written.resource.span) at = written;
                        });
                      }};
      };
      to.push_back({.change = change, .instead = "leaving " + name, .most = most});
    });
  }

  // The most that the op can leave beside its own amount at all its stages; 0 without a capacity.
  std::int64_t room_beside(const std::string& op, int resource) const {
    std::optional<std::int64_t> least;
    for (const spec::Lane& lane : program_.lanes) {
      if (at(program_.ops, lane.op).name != op) continue;
      for (const spec::Acquire& a : lane.acquires) {
        const spec::Pool& pool = at(program_.pools, a.pool);
        if (pool.resource != resource || !pool.capacity) continue;
        const std::int64_t room = *pool.capacity - a.amount - a.leaving;
        least = std::min(least.value_or(room), room);
      }
    }
    return least.value_or(0);
  }

  static bool is_forward(const ast::Op& op) {
    return !op.kind.empty() && op.kind.front().text == "forward";
  }
  static void leave(ast::Acquires& clause) {
    Expr left = Expr::binary("-", Expr::binary("-", Expr::name("chunks"), Expr::number(1)),
                             Expr::name("chunk"));
    clause.leaving = clause.amount ? Expr::binary("*", *clause.amount, std::move(left)) : left;
  }

  static Change leaving(const ast::Pipeline& from, const std::string& resource,
                        bool forwards_only) {
    Change change{"leaving", "", {}, {}};
    each_clause<ast::Acquires>(from, [&](const ast::Op& op, const ast::Acquires& clause) {
      if (clause.resource.text != resource || (forwards_only && !is_forward(op))) return;
      ast::Acquires written = clause;
      leave(written);
      if (change.text.empty()) change.span = clause.resource.span;
      change.text += fmt::format("{}`{}` in op {}", change.text.empty() ? "" : ", ",
                                 text_of(written), op.name.text);
    });
    change.apply = [resource, forwards_only](ast::Pipeline& tree) {
      each_clause<ast::Acquires>(tree, [&](const ast::Op& op, ast::Acquires& clause) {
        if (clause.resource.text != resource || (forwards_only && !is_forward(op))) return;
        leave(clause);
      });
    };
    return change;
  }

  // Whether order matters, since some task waits for several stages or its lane's previous task.
  bool order_matters() const {
    return std::any_of(program_.lanes.begin(), program_.lanes.end(),
                       [](const spec::Lane& lane) { return lane.sequential; }) ||
           std::any_of(program_.stages.begin(), program_.stages.end(), [](const auto& stage) {
             return stage.prev.size() > 1 || stage.next.size() > 1;
           });
  }

  std::vector<CandidateChange> sequential() const {
    std::vector<CandidateChange> found;
    if (program_.dispatch.in_order || !order_matters()) return found;
    std::set<std::string> all;
    each<ast::Op>(tree_, [&](const ast::Op& op) {
      if (op.sequential || op.once) return;
      all.insert(op.name.text);
      found.push_back(in_sequence({op.name.text}));
    });
    if (all.size() > 1) found.push_back(in_sequence(all));
    return found;
  }

  CandidateChange in_sequence(const std::set<std::string>& names) const {
    Change change{"sequential", "", {}, {}};
    each<ast::Op>(tree_, [&](const ast::Op& op) {
      if (names.count(op.name.text) == 0) return;
      if (change.text.empty()) change.span = op.name.span;
      change.text +=
          fmt::format("{}`{} sequential`", change.text.empty() ? "" : " and ", header_of(op));
    });
    change.apply = [names](ast::Pipeline& tree) {
      each<ast::Op>(tree, [&](ast::Op& op) {
        if (names.count(op.name.text) > 0) op.sequential = true;
      });
    };
    return {[change](std::int64_t) { return change; }, 0, {}, -1, 1, names.size() > 1};
  }

  // The change that sets the resource's capacity to `value`.
  static Change capacity(const ast::Resource& resource, const Expr& value) {
    return {"capacity", fmt::format("`capacity {}` of {}", print(value), resource.name.text),
            resource.name.span, [name = resource.name.text, value](ast::Pipeline& tree) {
              each<ast::Resource>(tree, [&](ast::Resource& r) {
                if (r.name.text == name) r.capacity = value;
              });
            }};
  }

  std::vector<CandidateChange> capacities() const {
    std::vector<CandidateChange> found;
    for (const int full : full_) {
      each<ast::Resource>(tree_, [&](const ast::Resource& resource) {
        if (resource.name.text != at(program_.resources, full).name || !resource.capacity) return;
        found.push_back({[&resource, unit = unit_of(full)](std::int64_t k) {
                           return capacity(resource, plus(*resource.capacity, k * unit));
                         },
                         kCapacityDoublings,
                         {},
                         full,
                         unit_of(full)});
      });
    }
    if (found.size() != 2) return found;
    found.push_back(
        {[a = found[0], b = found[1]](std::int64_t k) { return both(a.change(k), b.change(k)); },
         kCapacityDoublings,
         {}});
    return found;
  }

  // Adds changes for an assertion that fails: a capacity that enforces it, and a higher bound.
  void add_assertions() {
    for (const spec::PeakAssertion& broken : program_.assertions) {
      if (broken.span != open_.span) continue;
      for (const ast::Item& item : tree_.items) {
        const auto* assertion = std::get_if<ast::Assert>(&item.value);
        if (assertion == nullptr || item.span != broken.span) continue;
        const ast::Assert& written = *assertion;
        if (!program_.dispatch.in_order) add_capacity_of(written);
        found_.first.push_back({[&written, unit = unit_of(broken.resource)](std::int64_t k) {
                                  return raised(written, k * unit);
                                },
                                kCapacityDoublings,
                                {}});
      }
      return;
    }
  }

  void add_capacity_of(const ast::Assert& written) {
    each<ast::Resource>(tree_, [&](const ast::Resource& resource) {
      if (resource.name.text != written.resource.text) return;
      const Change change = capacity(resource, written.bound);
      found_.first.push_back({[change](std::int64_t) { return change; }, 0, {}});
    });
  }

  static Change raised(const ast::Assert& written, std::int64_t k) {
    const Expr bound = plus(written.bound, k);
    return {"assert", fmt::format("`assert peak {} <= {}`", written.resource.text, print(bound)),
            written.resource.span, [written, bound](ast::Pipeline& tree) {
              each<ast::Assert>(tree, [&](ast::Assert& a) {
                const bool it =
                    a.resource.text == written.resource.text && same(a.bound, written.bound);
                if (it) a.bound = bound;
              });
            }};
  }

  const ast::Pipeline& tree_;
  const Program& program_;
  const verify::Obligation& open_;
  std::vector<int> full_;          // resources
  std::vector<spec::Span> links_;  // spans of needs
  std::vector<CandidateChange> leaving_;
  CandidateChanges found_;
};

}  // namespace

CandidateChanges candidates_for(const ast::Pipeline& tree, const Program& program,
                                const verify::Obligation& open) {
  return Builder(tree, program, open).run();
}

Change both(const Change& a, const Change& b) {
  return {a.what + "+" + b.what, a.text + ", and " + b.text, a.span,
          [first = a.apply, second = b.apply](ast::Pipeline& tree) {
            first(tree);
            second(tree);
          }};
}

}  // namespace ripeline::optimise
