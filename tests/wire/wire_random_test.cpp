// Tests, for random orders on the wire, that the judge agrees with a naive run of them.
#include <gtest/gtest.h>

#include "tests/wire/random_wire.h"
#include "tests/wire/wire_play.h"
#include "wire/wire.h"

namespace ripeline::wire {
namespace {

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
}  // namespace ripeline::wire
