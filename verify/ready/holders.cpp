#include "verify/ready/holders.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace ripeline::verify {

using spec::Program;

namespace {

// Lanes of the stage that each task of `lane` needs, directly or through others, with the same task
// number. Their counts are never less than the lane's, by the facts about single needs.
std::vector<int> needed_at_stage(const Program& program, int lane) {
  const spec::Lane& own = at(program.lanes, lane);
  std::vector<int> found{lane};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const int edge : at(program.lanes, found[i]).edges) {
      const spec::Edge& e = at(program.edges, edge);
      const spec::Lane& producer = at(program.lanes, e.producer);
      if (e.of != spec::Of::same || producer.stage != own.stage || producer.share != own.share ||
          std::find(found.begin(), found.end(), e.producer) != found.end()) {
        continue;
      }
      found.push_back(e.producer);
    }
  }
  found.erase(found.begin());
  return found;
}

// The amount that a lane acquires, and the lanes that release it, as far as known.
struct Acquired {
  int lane = 0;
  std::int64_t leaving = 0;
  std::int64_t left = 0;  // the amount that no lane releases yet
  Holder holder;
};

struct Released {
  int lane = 0;
  std::int64_t amount = 0;
  std::vector<int> needed;
};

class StageHolders {
 public:
  StageHolders(const Program& program, const std::vector<spec::Guards>& guards, int pool)
      : program_(program), guards_(guards), pool_(pool) {}

  void add(int lane) {
    if (const auto room = room_in(at(guards_, lane), pool_)) {
      acquired_.push_back({lane, room->leaving, room->amount, {room->leaving, {}}});
    }
    for (const auto& r : at(program_.lanes, lane).releases) {
      if (r.pool == pool_) released_.push_back({lane, r.amount, needed_at_stage(program_, lane)});
    }
  }

  // nullopt if some release exceeds the amounts that lanes are known to have acquired before.
  std::optional<std::vector<Holder>> divided() {
    // Releases are sorted so that releases of lanes that need more lanes are later.
    std::stable_sort(released_.begin(), released_.end(), [](const Released& a, const Released& b) {
      return a.needed.size() < b.needed.size();
    });
    for (const Released& r : released_) {
      if (!give_back(r)) return std::nullopt;
    }
    std::vector<Holder> holders;
    for (Acquired& a : acquired_) {
      if (a.left > 0) a.holder.parts.push_back({a.left, Linear().add(a.lane, a.left)});
      holders.push_back(std::move(a.holder));
    }
    return holders;
  }

 private:
  // Releases the lane's own amount first, then amounts of needed lanes, the least `leaving` first.
  bool give_back(const Released& r) {
    std::vector<Acquired*> from;
    for (Acquired& a : acquired_) {
      const bool needed = std::find(r.needed.begin(), r.needed.end(), a.lane) != r.needed.end();
      if (needed || a.lane == r.lane) from.push_back(&a);
    }
    std::stable_sort(from.begin(), from.end(), [&](const Acquired* a, const Acquired* b) {
      return std::pair(a->lane != r.lane, a->leaving) < std::pair(b->lane != r.lane, b->leaving);
    });
    std::int64_t amount = r.amount;
    for (Acquired* a : from) {
      const std::int64_t given = std::min(amount, a->left);
      if (given == 0) continue;
      amount -= given;
      a->left -= given;
      if (a->lane == r.lane) {
        a->holder.free_beside += given;  // counts see only ended tasks
      } else {
        a->holder.parts.push_back({given, Linear().add(a->lane, given).add(r.lane, -given)});
      }
    }
    return amount == 0;
  }

  const Program& program_;
  const std::vector<spec::Guards>& guards_;
  int pool_;
  std::vector<Acquired> acquired_;
  std::vector<Released> released_;
};

constexpr std::int64_t kNobodyAcquires = std::numeric_limits<std::int64_t>::max();

std::vector<Holder> whole_stages(const Program& program, const std::vector<spec::Guards>& guards,
                                 int pool, const Linear& held) {
  std::map<int, Holder> stages;
  for (const auto& [lane, factor] : held.lanes) {
    const auto [it, fresh] = stages.try_emplace(at(program.lanes, lane).stage);
    Holder& holder = it->second;
    if (fresh) holder = {kNobodyAcquires, {{}}};
    holder.parts.front().held.add(lane, factor);
    if (const auto room = room_in(at(guards, lane), pool)) {
      holder.free_beside = std::min(holder.free_beside, room->leaving);
    }
  }
  std::vector<Holder> holders;
  for (auto& [stage, holder] : stages) {
    if (holder.free_beside < kNobodyAcquires) holders.push_back(std::move(holder));
  }
  return holders;
}

}  // namespace

std::vector<Holder> holders_of(const Program& program, const std::vector<spec::Guards>& guards,
                               int pool, const Linear& held) {
  std::map<int, StageHolders> stages;
  for (const auto& [lane, factor] : held.lanes) {
    stages.try_emplace(at(program.lanes, lane).stage, program, guards, pool)
        .first->second.add(lane);
  }
  std::vector<Holder> holders;
  for (auto& [stage, of_stage] : stages) {
    auto divided = of_stage.divided();
    // Without a division, it may not follow that the amount held by each stage is 0 or more.
    if (!divided) return whole_stages(program, guards, pool, held);
    std::move(divided->begin(), divided->end(), std::back_inserter(holders));
  }
  return holders;
}

}  // namespace ripeline::verify
