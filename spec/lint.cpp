// Warnings are derived from the Program, since `when` and the placement decide which lanes a stage
// has; the tree gives their positions.
#include "spec/lint.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/indexing.h"

namespace ripeline::spec {
namespace {

// Whether tasks of the kind compute the gradient that the previous stage needs.
bool gives_gradient(OpKind kind) {
  return kind == OpKind::backward || kind == OpKind::backward_input;
}

// The stages as text: `every stage`, `stage 2`, `each of stages 0 to 2`, `each of stages 0, 2, 5
// and 60 more`. `stages` must be sorted.
std::string stages_text(const std::vector<int>& stages, int all) {
  constexpr std::size_t kMostNamed = 3;
  if (stages.size() == 1) return fmt::format("stage {}", stages.front());
  if (size_of(stages) == all) return "every stage";
  if (stages.back() - stages.front() + 1 == size_of(stages)) {
    return fmt::format("each of stages {} to {}", stages.front(), stages.back());
  }
  const std::size_t named = std::min(kMostNamed, stages.size());
  return fmt::format(
      "each of stages {}{}",
      fmt::join(stages.begin(), stages.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      named < stages.size() ? fmt::format(" and {} more", stages.size() - named) : "");
}

// The amounts that a stage acquires from one pool, and releases, for one microbatch.
struct Balance {
  std::int64_t acquired = 0;
  std::int64_t released = 0;
  int lane = -1;  // the last lane that acquires
};

// An amount that the (sorted) stages acquire by one clause and do not release in full.
struct Unreleased {
  Span span;
  std::string what;  // the message's predicate
  std::string hint;
  std::vector<int> stages;
};

class Linter {
 public:
  Linter(const ast::Pipeline& tree, const Program& program)
      : tree_(tree), program_(program), seen_(program.lanes.size(), 0) {
    for (const Op& op : program_.ops) written_.push_back(written_op(op.name));
    stages_.resize(program_.stages.size());
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      stages_[static_cast<std::size_t>(at(program_.lanes, lane).stage)].push_back(lane);
    }
  }

  Diagnostics run() {
    for (int stage = 0; stage < size_of(stages_); ++stage) {
      check_gradients(stage);
      check_releases(stage);
      check_results(stage);
    }
    warn_of_releases();
    check_resources();
    check_hints();
    std::stable_sort(found_.begin(), found_.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return a.span.begin < b.span.begin;
    });
    return std::move(found_);
  }

 private:
  // A warning that applies to several stages is given once, for the first.
  void warn(const char* id, std::string message, std::string hint, Span span) {
    const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& d) {
      return d.id == id && d.span == span;
    });
    if (!is_known) found_.push_back({id, std::move(message), std::move(hint), span});
  }

  [[nodiscard]] const ast::Op* written_op(const std::string& name) const {
    for (const ast::Item& item : tree_.items) {
      const auto* op = std::get_if<ast::Op>(&item.value);
      if (op != nullptr && op->name.text == name) return op;
    }
    return nullptr;  // the tree is of another program
  }
  [[nodiscard]] const Op& op_of(int lane) const {
    return at(program_.ops, at(program_.lanes, lane).op);
  }
  [[nodiscard]] OpKind kind_of(int lane) const { return op_of(lane).kind; }
  [[nodiscard]] const std::vector<int>& lanes_at(int stage) const {
    return stages_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::vector<int> gradients_at(int stage) const {
    std::vector<int> lanes;
    for (const int lane : lanes_at(stage)) {
      if (gives_gradient(kind_of(lane))) lanes.push_back(lane);
    }
    return lanes;
  }

  // ---- backward-without-next

  // A stage's backward must need, directly or not, a backward of each stage that its forward feeds.
  void check_gradients(int stage) {
    const std::vector<int> own = gradients_at(stage);
    if (own.empty()) return;
    for (const int lane : lanes_at(stage)) {
      if (kind_of(lane) != OpKind::forward) continue;
      for (const int feed : at(program_.lanes, lane).feeds) {
        const int consumer = at(program_.edges, feed).consumer;
        const int fed = at(program_.lanes, consumer).stage;
        if (kind_of(consumer) != OpKind::forward || fed == stage) continue;
        // A stage without a backward passes no gradient on.
        const std::vector<int> theirs = gradients_at(fed);
        if (!theirs.empty() && !needs_one_of(own, theirs)) warn_of_gradient(own.front(), fed);
      }
    }
  }

  [[nodiscard]] bool needs_one_of(const std::vector<int>& lanes, const std::vector<int>& wanted) {
    if (warned_.count(at(program_.lanes, lanes.front()).op) > 0) return true;
    const auto is_wanted = [&](int lane) {
      return std::find(wanted.begin(), wanted.end(), lane) != wanted.end();
    };
    ++search_;
    std::vector<int> open = lanes;  // breadth first: the lane is usually near
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const int edge : at(program_.lanes, open[i]).edges) {
        const int producer = at(program_.edges, edge).producer;
        if (is_wanted(producer)) return true;
        int& seen = seen_[static_cast<std::size_t>(producer)];
        if (seen == search_) continue;
        seen = search_;
        open.push_back(producer);
      }
    }
    return false;
  }

  void warn_of_gradient(int lane, int fed) {
    constexpr const char* kId = "backward-without-next";
    const int stage = at(program_.lanes, lane).stage;
    warned_.insert(at(program_.lanes, lane).op);
    const ast::Op* op = written_[static_cast<std::size_t>(at(program_.lanes, lane).op)];
    if (op == nullptr) return;
    const std::vector<int>& after = at(program_.stages, stage).next;
    const bool is_next = std::find(after.begin(), after.end(), fed) != after.end();
    const ast::NeededOp* wrong = is_next ? need_of_gradient(*op, ast::At::prev) : nullptr;
    if (wrong != nullptr) {
      warn(kId,
           fmt::format("{} needs {} of the stage before, but its gradient comes from the stage "
                       "after",
                       op->name.text, wrong->op.text),
           fmt::format("write `{} at next`", wrong->op.text), wrong->span);
      return;
    }
    const std::string theirs = op_of(gradients_at(fed).front()).name;
    warn(kId,
         fmt::format("{} needs no backward of stage {}, which stage {} feeds",
                     program_.lane_name(lane), fed, stage),
         fmt::format("its gradient comes from there: add `needs {} at {};`", theirs,
                     is_next ? "next" : fmt::format("({})", fed)),
         op->name.span);
  }

  [[nodiscard]] const ast::NeededOp* need_of_gradient(const ast::Op& op, ast::At where) const {
    for (const ast::OpClause& clause : op.clauses) {
      const auto* needs = std::get_if<ast::Needs>(&clause.value);
      if (needs == nullptr) continue;
      for (const ast::NeededOp& need : needs->items) {
        const auto named = std::find_if(program_.ops.begin(), program_.ops.end(),
                                        [&](const Op& o) { return o.name == need.op.text; });
        if (need.at == where && named != program_.ops.end() && gives_gradient(named->kind)) {
          return &need;
        }
      }
    }
    return nullptr;
  }

  // ---- resource-not-released

  // A release of more than was acquired is already an error. An amount that a `once` op acquires
  // does not grow with the microbatches, and may stay held until the step ends.
  void check_releases(int stage) {
    int period = 1;
    for (const int lane : lanes_at(stage)) {
      period = std::lcm(period, at(program_.lanes, lane).share.period);
    }
    for (int m = 0; m < period; ++m) {
      for (const auto& [pool, use] : balances(stage, m)) {
        const std::string of = period > 1 ? fmt::format("microbatch {}", m) : "a microbatch";
        if (use.acquired > use.released) add_unreleased(stage, of, pool, use);
      }
    }
  }

  [[nodiscard]] std::map<int, Balance> balances(int stage, int microbatch) const {
    std::map<int, Balance> pools;
    for (const int id : lanes_at(stage)) {
      const Lane& lane = at(program_.lanes, id);
      if (lane.once || !lane.share.has(microbatch)) continue;
      for (const Acquire& a : lane.acquires) {
        pools[a.pool].acquired += a.amount;
        pools[a.pool].lane = id;
      }
      for (const Release& r : lane.releases) pools[r.pool].released += r.amount;
    }
    return pools;
  }

  void add_unreleased(int stage, const std::string& of, int pool, const Balance& use) {
    const std::string& name = at(program_.resources, at(program_.pools, pool).resource).name;
    const ast::Op* op = written_[static_cast<std::size_t>(at(program_.lanes, use.lane).op)];
    if (op == nullptr) return;
    Span span = op->name.span;
    for (const ast::OpClause& clause : op->clauses) {
      const auto* acquires = std::get_if<ast::Acquires>(&clause.value);
      if (acquires != nullptr && acquires->resource.text == name) span = acquires->resource.span;
    }
    const bool some = use.released > 0;
    const std::int64_t rest = use.acquired - use.released;
    const std::string what =
        fmt::format("acquires {} of '{}' for {} and releases {}", use.acquired, name, of,
                    some ? fmt::format("{} of them", use.released) : "none");
    const std::string hint = fmt::format(
        "what stays held adds up with every microbatch: let an op release {}, with "
        "`releases {}{};`",
        some ? "the rest" : "it", name, rest > 1 ? fmt::format(" {}", rest) : "");
    const auto same = std::find_if(
        unreleased_.begin(), unreleased_.end(),
        [&](const Unreleased& other) { return other.span == span && other.what == what; });
    if (same == unreleased_.end()) {
      unreleased_.push_back({span, what, hint, {stage}});
    } else if (same->stages.back() != stage) {
      same->stages.push_back(stage);
    }
  }

  void warn_of_releases() {
    for (const Unreleased& one : unreleased_) {
      warn("resource-not-released",
           stages_text(one.stages, size_of(program_.stages)) + " " + one.what, one.hint, one.span);
    }
  }

  // ---- resource-unused

  void check_resources() {
    std::set<int> used;
    for (const Lane& lane : program_.lanes) {
      for (const Acquire& a : lane.acquires) used.insert(at(program_.pools, a.pool).resource);
    }
    for (int i = 0; i < size_of(program_.resources); ++i) {
      const Resource& resource = at(program_.resources, i);
      if (used.count(i) > 0) continue;
      warn("resource-unused", fmt::format("no task acquires '{}'", resource.name),
           fmt::format("it bounds nothing: let an op say `acquires {}`, or remove it",
                       resource.name),
           resource.span);
    }
  }

  // ---- op-without-effect

  // No task has to wait for a weight gradient, a reduction, a user's op, an op without a kind or
  // the backward of a first stage. A forward without a backward is the last op of its stage.
  void check_results(int stage) {
    const bool trains = !gradients_at(stage).empty();
    for (const int id : lanes_at(stage)) {
      const Lane& lane = at(program_.lanes, id);
      const ast::Op* op = written_[static_cast<std::size_t>(lane.op)];
      if (!lane.feeds.empty() || !lane.releases.empty() || op == nullptr) continue;
      const std::string& name = op->name.text;
      std::string hint;
      switch (kind_of(id)) {
        case OpKind::forward:
          if (trains) hint = fmt::format("let the stage's backward say `needs {} at here;`", name);
          break;
        case OpKind::offload:
          hint = fmt::format("let the op that brings it back say `needs {} at here;`", name);
          break;
        case OpKind::reload:
        case OpKind::recompute:
          hint = fmt::format("let the op that uses it say `needs {} at here;`", name);
          break;
        default:
          break;
      }
      if (hint.empty()) continue;
      warn("op-without-effect",
           fmt::format("no task needs {}, and it releases nothing", program_.lane_name(id)), hint,
           op->name.span);
    }
  }

  // ---- hint-leaves-out

  void check_hints() {
    for (const ast::Item& item : tree_.items) {
      const auto* written = std::get_if<ast::Hint>(&item.value);
      if (written == nullptr) continue;
      for (const Hint& hint : program_.hints) {
        if (hint.name == written->name.text) check_hint(hint, *written);
      }
    }
  }

  // An op that is alone on its engine, or runs once in a step, needs no place in a hint.
  void check_hint(const Hint& hint, const ast::Hint& written) {
    if (hint.places.empty()) return;
    std::set<int> listed;
    for (const HintPlace& place : hint.places) listed.insert(place.op);
    for (const HintPlace& place : hint.fill) listed.insert(place.op);
    std::set<Engine> engines;
    for (const int op : listed) engines.insert(at(program_.ops, op).engine);
    std::set<int> left_out;
    for (const Lane& lane : program_.lanes) {
      const bool chosen = !lane.once && engines.count(lane.engine) > 0;
      if (chosen && listed.count(lane.op) == 0) left_out.insert(lane.op);
    }
    if (left_out.empty()) return;
    std::vector<std::string> names;
    for (const int op : left_out) names.push_back(at(program_.ops, op).name);
    warn("hint-leaves-out",
         fmt::format("hint '{}' does not list {}", hint.name, fmt::join(names, ", ")),
         fmt::format("what a hint does not list comes after all that it lists: list it, or say so "
                     "with `fill {};`",
                     fmt::join(names, ", ")),
         written.name.span);
  }

  const ast::Pipeline& tree_;
  const Program& program_;
  std::vector<const ast::Op*> written_;   // per op
  std::vector<std::vector<int>> stages_;  // per stage, its lanes
  std::vector<Unreleased> unreleased_;    // in the order in which they were found
  std::set<int> warned_;                  // ops with the warning backward-without-next
  std::vector<int> seen_;                 // per lane: the last search that reached it
  int search_ = 0;
  Diagnostics found_;
};

}  // namespace

Diagnostics lint(const ast::Pipeline& pipeline, const Program& program) {
  return Linter(pipeline, program).run();
}

}  // namespace ripeline::spec
