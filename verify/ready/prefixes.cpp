#include "verify/ready/prefixes.h"

#include <algorithm>

#include "spec/long_work.h"

namespace ripeline::verify {

using spec::Program;

Prefixes::Prefixes(const Program& program, const std::vector<spec::Guards>& guards)
    : program_(program) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    prefixes_.push_back(at(guards, lane).in_sequence || at(program.lanes, lane).once);
  }
  for (const spec::Edge& e : program.edges) {
    if (e.of == spec::Of::before) add_between(e.consumer, e.producer);
  }
  for (std::size_t before = 0; before != found();) {
    before = found();
    for (int lane = 0; lane < size_of(program.lanes); ++lane) {
      spec::stop_point();
      if (is_prefix(lane)) add_behind(lane, at(guards, lane));
    }
  }
}

std::size_t Prefixes::found() const {
  return static_cast<std::size_t>(std::count(prefixes_.begin(), prefixes_.end(), true));
}

const std::vector<int>& Prefixes::ancestors_of(int lane) const {
  const auto [it, fresh] = ancestors_.try_emplace(lane);
  if (fresh) it->second = spec::ancestors(program_, lane);
  return it->second;
}

bool Prefixes::is_ancestor(int lane, int of) const {
  const std::vector<int>& all = ancestors_of(of);
  return std::binary_search(all.begin(), all.end(), lane);
}

// Marks the lanes on the paths from `first` to `last`, including these two.
void Prefixes::add_between(int first, int last) {
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    spec::stop_point();
    if (is_or_precedes(first, lane) && is_or_precedes(lane, last)) {
      prefixes_[static_cast<std::size_t>(lane)] = true;
    }
  }
}

// Marks lanes behind `lane` if it starts only once earlier microbatches have released their room.
void Prefixes::add_behind(int lane, const spec::Guards& guards) {
  const spec::Lane& l = at(program_.lanes, lane);
  if (l.once) return;
  for (const spec::RoomGuard& guard : guards.rooms) {
    if (!is_only_acquirer(lane, guard.pool)) continue;
    for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1);
         ++other) {
      const spec::Lane& o = at(program_.lanes, other);
      if (o.stage != l.stage) continue;
      for (const auto& r : o.releases) {
        if (r.pool == guard.pool && r.amount > guard.room.most_held()) add_between(lane, other);
      }
    }
  }
}

bool Prefixes::is_only_acquirer(int lane, int pool) const {
  const spec::Lane& l = at(program_.lanes, lane);
  for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1); ++other) {
    const spec::Lane& o = at(program_.lanes, other);
    if (other == lane || o.stage != l.stage) continue;
    for (const auto& a : o.acquires) {
      if (a.pool == pool) return false;
    }
  }
  return true;
}

}  // namespace ripeline::verify
