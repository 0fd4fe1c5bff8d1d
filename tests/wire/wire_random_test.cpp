// Random orders on the wire: the judge agrees with playing them.
#include <random>

#include <gtest/gtest.h>

#include "tests/wire/wire_play.h"
#include "wire/wire.h"

namespace ripeline::verify {
namespace {

using Kind = WireAction::Kind;

class RandomWire {
 public:
  explicit RandomWire(std::uint64_t seed) : random_(seed) {}

  WireProgram program() {
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

  WireOptions options() {
    WireOptions o;
    o.layout = static_cast<WireLayout>(below(3));
    o.kernels = static_cast<WireKernels>(below(3));
    o.credits = below(3);
    if (below(3) == 0) o.channel_credits[{0, 1}] = below(3);
    return o;
  }

  std::mt19937_64& engine() { return random_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  // Not always last: what the other ranks do in this order, this one may do in another.
  void put(std::vector<WireAction>& rank, WireAction a) {
    const int back = below(2) == 0 ? below(4) : 0;
    const int size = static_cast<int>(rank.size());
    rank.insert(rank.end() - std::min(back, size), std::move(a));
  }

  void add_step(WireProgram& p) {
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

  void decorate(std::vector<WireAction>& rank) {
    const int streams = below(3);  // 0: one; 1: none for messages; 2: any
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

  std::mt19937_64 random_;
};

TEST(WireRandom, the_judge_agrees_with_playing) {
  int safe = 0;
  int stuck = 0;
  constexpr int kPrograms = 6000;
  for (int i = 0; i < kPrograms; ++i) {
    RandomWire random(static_cast<std::uint64_t>(i));
    const WireProgram program = random.program();
    const WireOptions options = random.options();
    const WireVerdict verdict = judge_wire(program, options);
    const std::string what = text_of(program) + name_of(options.layout) + " " +
                             name_of(options.kernels) + " " + std::to_string(options.credits) +
                             " seed " + std::to_string(i) + ": " + verdict.sentence;
    for (int again = 0; again < 2; ++again) {
      WirePlay play(program, options);
      play.run(random.engine());
      ASSERT_EQ(name_of(verdict.kind), play.done() ? "safe" : "deadlock") << what;
    }
    ++(verdict.kind == WireVerdict::Kind::safe ? safe : stuck);
    if (verdict.kind == WireVerdict::Kind::deadlock) {
      ASSERT_FALSE(verdict.cycle.empty()) << what;
      for (std::size_t k = 0; k < verdict.cycle.size(); ++k) {
        const WireWait& next = verdict.cycle[(k + 1) % verdict.cycle.size()];
        ASSERT_EQ(verdict.cycle[k].on, next.waiting) << what;
      }
      continue;
    }
    WirePlay play(program, options);
    for (const WireEvent& event : verdict.order) {
      ASSERT_TRUE(play.may(event)) << what;
      play.happen(event);
    }
    ASSERT_TRUE(play.done()) << what;
  }
  EXPECT_GT(safe, kPrograms / 4);
  EXPECT_GT(stuck, kPrograms / 5);
}

}  // namespace
}  // namespace ripeline::verify
