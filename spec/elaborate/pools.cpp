#include "spec/elaborate/pools.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ripeline::spec::elaboration {
namespace {

// The most ops that may release one resource at a stage, since all their subsets are tried.
constexpr std::size_t kMostReleasing = 12;

std::string at_stage(int stage) { return fmt::format(", at stage {}", stage); }

// An amount or a capacity; nullopt after reporting an error.
std::optional<std::int64_t> amount_of(Work& work, const Expr& expr, const Values& values,
                                      std::int64_t least, const char* id, const std::string& what,
                                      const std::string& where) {
  const auto value = integer_of(work, expr, values, where);
  if (!value) return std::nullopt;
  if (*value < least) {
    work.error(id, fmt::format("{} is {}{}", what, *value, where),
               fmt::format("the least is {}", least), expr.span);
    return std::nullopt;
  }
  if (*value > kLargestAmount) {
    work.error("amount-too-large", fmt::format("{} is {}{}", what, *value, where),
               fmt::format("the largest is {}; choose a larger unit", kLargestAmount), expr.span);
    return std::nullopt;
  }
  return value;
}

void add_pools(Work& work, int resource) {
  const ast::Resource& written = *work.resources[static_cast<std::size_t>(resource)].node;
  const bool per_rank = written.per == ast::Per::rank;
  Program& program = work.program;
  work.first_pool.push_back(static_cast<int>(program.pools.size()));
  Values values = global_values(work);
  const int instances = per_rank ? program.ranks : static_cast<int>(program.stages.size());
  for (int i = 0; i < instances; ++i) {
    Pool pool;
    pool.resource = resource;
    pool.rank = per_rank ? i : at(program.stages, i).rank;
    pool.stage = per_rank ? -1 : i;
    if (written.capacity) {
      per_rank ? set_rank(values, work, i) : set_stage(values, work, i);
      pool.capacity = amount_of(work, *written.capacity, values, 1, "capacity-not-positive",
                                fmt::format("the capacity of {}", written.name.text),
                                fmt::format(", at {} {}", per_rank ? "rank" : "stage", i));
    }
    program.pools.push_back(pool);
  }
}

int pool_of(const Work& work, std::string_view resource, const Lane& lane) {
  const int index = work.find_resource(resource);
  const bool per_rank = at(work.program.resources, index).per_rank;
  return at(work.first_pool, index) + (per_rank ? lane.rank : lane.stage);
}

std::int64_t optional_amount(Work& work, const std::optional<Expr>& expr, const Values& values,
                             std::int64_t least, const char* id, const std::string& what,
                             const std::string& where) {
  if (!expr) return least;
  return amount_of(work, *expr, values, least, id, what, where).value_or(least);
}

// Amounts of repeated clauses add up; the largest of their `leaving` amounts counts.
void acquire(Work& work, Lane& lane, const ast::Acquires& clause, const Values& values) {
  const std::string where = at_stage(lane.stage);
  const std::int64_t amount =
      optional_amount(work, clause.amount, values, 1, "amount-not-positive", "the amount", where);
  const std::int64_t leaving =
      optional_amount(work, clause.leaving, values, 0, "leaving-negative", "`leaving`", where);
  const int pool = pool_of(work, clause.resource.text, lane);
  auto it = std::find_if(lane.acquires.begin(), lane.acquires.end(),
                         [pool](const Acquire& a) { return a.pool == pool; });
  if (it == lane.acquires.end()) it = lane.acquires.insert(it, {pool, 0, 0});
  it->amount += amount;
  it->leaving = std::max(it->leaving, leaving);
  const auto& capacity = at(work.program.pools, pool).capacity;
  if (!capacity || it->amount + it->leaving <= *capacity) return;
  const std::string& op = at(work.program.ops, lane.op).name;
  const std::string with_leaving =
      it->leaving > 0 ? fmt::format(" leaving {}", it->leaving) : std::string();
  work.error("acquire-never-fits",
             fmt::format("{}{} could never start: it acquires {} of '{}'{}", lane.stage, op,
                         it->amount, clause.resource.text, with_leaving),
             fmt::format("the capacity there is {}", *capacity), clause.resource.span);
}

void release(Work& work, Lane& lane, const ast::Releases& clause, const Values& values) {
  const std::int64_t amount = optional_amount(work, clause.amount, values, 1, "amount-not-positive",
                                              "the amount", at_stage(lane.stage));
  const int pool = pool_of(work, clause.resource.text, lane);
  auto it = std::find_if(lane.releases.begin(), lane.releases.end(),
                         [pool](const Release& r) { return r.pool == pool; });
  if (it == lane.releases.end()) it = lane.releases.insert(it, {pool, 0});
  it->amount += amount;
}

void add_uses(Work& work) {
  Values values = global_values(work);
  for (Lane& lane : work.program.lanes) {
    set_stage(values, work, lane.stage);
    for (const ast::OpClause& clause : work.ops[static_cast<std::size_t>(lane.op)].node->clauses) {
      if (const auto* acquires = std::get_if<ast::Acquires>(&clause.value)) {
        acquire(work, lane, *acquires, values);
      } else if (const auto* releases = std::get_if<ast::Releases>(&clause.value)) {
        release(work, lane, *releases, values);
      }
    }
  }
}

std::int64_t acquired(const Lane& lane, int pool) {
  for (const Acquire& a : lane.acquires) {
    if (a.pool == pool) return a.amount;
  }
  return 0;
}

std::int64_t released(const Lane& lane, int pool) {
  for (const Release& r : lane.releases) {
    if (r.pool == pool) return r.amount;
  }
  return 0;
}

// Finds which lanes of a stage must end before another lane of the stage.
class StageOrder {
 public:
  StageOrder(const Program& program, int share_period)
      : program_(program),
        kinds_(kinds_in(program, share_period)),
        depth_(depths(program)),
        seen_(program.lanes.size(), 0) {}

  // The first microbatch of each kind; microbatches are of one kind if the same lanes have them.
  [[nodiscard]] const std::vector<int>& kinds() const { return kinds_; }
  [[nodiscard]] bool has(int lane, int microbatch) const {
    const Lane& l = at(program_.lanes, lane);
    return l.once || l.share.has(microbatch);
  }

  // The lanes of `wanted` that `lane` needs for the microbatch, and `lane` itself. The search goes
  // breadth first and stops when no more can be found, since needed lanes are usually near.
  std::vector<int> needed(int lane, int microbatch, const std::vector<int>& wanted) {
    ++search_;
    const auto most = 1 + std::count_if(wanted.begin(), wanted.end(), [&](int other) {
                        return at(depth_, other) < at(depth_, lane) && has(other, microbatch);
                      });
    std::vector<int> found{lane};
    std::vector<int> queue{lane};
    for (std::size_t i = 0; i < queue.size() && std::ssize(found) < most; ++i) {
      for (const int edge : at(program_.lanes, queue[i]).edges) {
        const Edge& e = at(program_.edges, edge);
        const int producer = e.producer;
        if (e.of == Of::before || !has(producer, microbatch)) continue;
        int& seen = seen_[static_cast<std::size_t>(producer)];
        if (seen == search_) continue;
        seen = search_;
        queue.push_back(producer);
        if (producer != lane && std::find(wanted.begin(), wanted.end(), producer) != wanted.end()) {
          found.push_back(producer);
        }
      }
    }
    return found;
  }

 private:
  // Microbatches from `share_period` on are of the same kinds as those before.
  static std::vector<int> kinds_in(const Program& program, int share_period) {
    std::vector<Share> shares;
    for (const Lane& lane : program.lanes) {
      if (lane.once || lane.share.is_all()) continue;
      if (std::find(shares.begin(), shares.end(), lane.share) != shares.end()) continue;
      shares.push_back(lane.share);
    }
    std::set<std::vector<bool>> known;
    std::vector<int> kinds;
    for (int m = 0; m < share_period; ++m) {
      std::vector<bool> has;
      for (const Share& share : shares) has.push_back(share.has(m));
      if (known.insert(std::move(has)).second) kinds.push_back(m);
    }
    return kinds;
  }

  // Per lane, the length of the longest path to a lane that needs nothing. Needs have no cycle.
  static std::vector<int> depths(const Program& program) {
    std::vector<int> depth(program.lanes.size(), 0);
    std::vector<std::size_t> open(program.lanes.size(), 0);
    std::vector<int> done;
    for (const Edge& e : program.edges) {
      if (e.of != Of::before) ++open[static_cast<std::size_t>(e.consumer)];
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) done.push_back(static_cast<int>(i));
    }
    while (!done.empty()) {
      const int lane = done.back();
      done.pop_back();
      for (const int edge : at(program.lanes, lane).feeds) {
        const Edge& e = at(program.edges, edge);
        const auto consumer = static_cast<std::size_t>(e.consumer);
        if (e.of == Of::before) continue;
        depth[consumer] = std::max(depth[consumer], at(depth, lane) + 1);
        if (--open[consumer] == 0) done.push_back(static_cast<int>(consumer));
      }
    }
    return depth;
  }

  const Program& program_;
  std::vector<int> kinds_;
  std::vector<int> depth_;  // a lane needs only lanes of less depth
  std::vector<int> seen_;   // per lane: the last search that reached it
  int search_ = 0;
};

// The lanes of one stage that use one pool.
struct StageUse {
  std::vector<int> all;        // lanes that acquire or release it, or both
  std::vector<int> releasing;  // the lanes among them that release it
};

// Whether a set of releasing lanes exists which, together with the lanes that they need, acquires
// less for the microbatch than it releases.
bool may_release_too_much(const Program& program, StageOrder& order, const StageUse& use, int pool,
                          int microbatch) {
  std::vector<std::vector<int>> needed;
  for (const int lane : use.releasing) {
    if (!order.has(lane, microbatch)) continue;
    needed.push_back(order.needed(lane, microbatch, use.all));
    // A `once` op acquires its amount once, not for each microbatch.
    if (at(program.lanes, lane).once) continue;
    std::erase_if(needed.back(), [&](int other) {
      const Lane& l = at(program.lanes, other);
      return l.once && acquired(l, pool) > 0;
    });
  }
  for (std::size_t subset = 1; subset < std::size_t{1} << needed.size(); ++subset) {
    std::vector<int> ended;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if ((subset >> i & 1U) != 0) ended.insert(ended.end(), needed[i].begin(), needed[i].end());
    }
    std::sort(ended.begin(), ended.end());
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    std::int64_t balance = 0;
    for (const int lane : ended) {
      balance += acquired(at(program.lanes, lane), pool);
      balance -= released(at(program.lanes, lane), pool);
    }
    if (balance < 0) return true;
  }
  return false;
}

Span release_span(const Work& work, const Lane& lane, int resource) {
  const ast::Op& op = *work.ops[static_cast<std::size_t>(lane.op)].node;
  for (const ast::OpClause& clause : op.clauses) {
    const auto* releases = std::get_if<ast::Releases>(&clause.value);
    if (releases != nullptr && work.find_resource(releases->resource.text) == resource) {
      return releases->resource.span;
    }
  }
  return op.name.span;
}

void check_use(Work& work, StageOrder& order, const StageUse& use, int pool) {
  if (use.releasing.empty()) return;
  const Program& program = work.program;
  const Lane& last = at(program.lanes, use.releasing.back());
  const int resource = at(program.pools, pool).resource;
  const std::string& name = at(program.resources, resource).name;
  const Span span = release_span(work, last, resource);
  if (use.releasing.size() > kMostReleasing) {
    work.error(
        "too-many-releases",
        fmt::format("more than {} ops release '{}' at stage {}", kMostReleasing, name, last.stage),
        "release it in fewer ops", span);
    return;
  }
  for (const int m : order.kinds()) {
    if (!may_release_too_much(program, order, use, pool, m)) continue;
    const int named = *std::find_if(use.releasing.rbegin(), use.releasing.rend(),
                                    [&](int lane) { return order.has(lane, m); });
    const bool once = at(program.lanes, named).once;
    work.error(
        "release-not-acquired",
        fmt::format(
            "{}{} may release '{}' before stage {} has acquired that much for the microbatch",
            program.lane_name(named), once ? 0 : m, name, last.stage),
        "an op may release what it, or an op that it needs, acquires at the same stage", span);
    return;
  }
}

void check_releases(Work& work) {
  const std::vector<Lane>& lanes = work.program.lanes;
  StageOrder order(work.program, work.share_period);
  for (std::size_t begin = 0, end = 0; begin < lanes.size(); begin = end) {
    std::map<int, StageUse> uses;  // by pool; lanes of one stage are neighbours
    for (end = begin; end < lanes.size() && lanes[end].stage == lanes[begin].stage; ++end) {
      const int lane = static_cast<int>(end);
      for (const Acquire& a : lanes[end].acquires) uses[a.pool].all.push_back(lane);
      for (const Release& r : lanes[end].releases) {
        StageUse& use = uses[r.pool];
        if (use.all.empty() || use.all.back() != lane) use.all.push_back(lane);
        use.releasing.push_back(lane);
      }
    }
    for (const auto& [pool, use] : uses) check_use(work, order, use, pool);
  }
}

}  // namespace

void make_pools(Work& work) {
  for (const auto& item : work.resources) {
    const ast::Resource& resource = *item.node;
    work.program.resources.push_back({resource.name.text, resource.unit.value_or(""),
                                      resource.per == ast::Per::rank, resource.name.span});
    add_pools(work, static_cast<int>(work.program.resources.size()) - 1);
  }
  if (work.failed()) return;
  add_uses(work);
  if (!work.failed()) check_releases(work);
}

}  // namespace ripeline::spec::elaboration
