#include "tests/wire/random_wire.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ripeline::wire {

using Kind = WireAction::Kind;

WireProgram RandomWire::program() {
  const int ranks = below(3) + 2;
  WireProgram p;
  p.ranks.resize(static_cast<std::size_t>(ranks));
  const int groups = below(3);
  for (int g = 0; g < groups; ++g) {
    p.groups.push_back({"g", {}});
    for (int r = 0; r < ranks; ++r) {
      if (below(3) > 0) p.groups.back().members.push_back(r);
    }
  }
  const int steps = below(9) + 2;
  for (int i = 0; i < steps; ++i) add_step(p);
  for (auto& rank : p.ranks) decorate(rank);
  return p;
}

WireOptions RandomWire::options() {
  WireOptions o;
  o.layout = static_cast<WireLayout>(below(3));
  o.kernels = static_cast<WireKernels>(below(3));
  o.credits = below(3);
  if (below(3) == 0) o.channel_credits[{0, 1}] = below(3);
  return o;
}

void RandomWire::put(std::vector<WireAction>& rank, WireAction a) {
  const int back = below(2) == 0 ? below(4) : 0;
  const int size = static_cast<int>(rank.size());
  rank.insert(rank.end() - std::min(back, size), std::move(a));
}

void RandomWire::add_step(WireProgram& p) {
  const int ranks = static_cast<int>(p.ranks.size());
  const int from = below(ranks);
  const int kind = below(5);
  if (kind == 0) {
    put(p.ranks[static_cast<std::size_t>(from)], {.name = "F"});
  } else if (kind == 1 && !p.groups.empty()) {
    const int g = below(static_cast<int>(p.groups.size()));
    for (const int r : p.groups[static_cast<std::size_t>(g)].members) {
      put(p.ranks[static_cast<std::size_t>(r)], {.kind = Kind::collective,
                                                 .name = "c" + std::to_string(g) + ":0",
                                                 .group = g,
                                                 .payload = 0});
    }
  } else {
    const int to = (from + 1 + below(ranks - 1)) % ranks;
    put(p.ranks[static_cast<std::size_t>(from)],
        {.kind = Kind::send, .name = "s" + std::to_string(to) + ":0", .peer = to, .payload = 0});
    put(p.ranks[static_cast<std::size_t>(to)], {.kind = Kind::receive,
                                                .name = "r" + std::to_string(from) + ":0",
                                                .peer = from,
                                                .payload = 0});
  }
}

void RandomWire::decorate(std::vector<WireAction>& rank) {
  const int streams = below(3);  // 0: one stream; 1: no streams for messages; 2: any
  int batch = below(2);
  int call = 0;
  for (int i = 0; i < static_cast<int>(rank.size()); ++i) {
    WireAction& a = rank[static_cast<std::size_t>(i)];
    if (streams == 1 && a.kind != Kind::compute) a.stream = -1;
    if (streams == 2) a.stream = below(4) - 1;
    if (below(2) == 0) ++batch;
    if (a.kind != Kind::compute && below(3) > 0) a.batch = batch;
    if (i == 0 || a.batch < 0 || a.batch != rank[static_cast<std::size_t>(i - 1)].batch) call = i;
    if (call > 0 && below(3) == 0) a.after.push_back(below(call));
  }
}

}  // namespace ripeline::wire
