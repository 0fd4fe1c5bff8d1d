#include "runtime/network/run_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace ripeline::runtime::network {
namespace {

using core::Time;
using namespace std::chrono_literals;

// Processes whose clocks are `ahead` of the clock of process 0, and the beats that they exchange.
class Clocks {
 public:
  explicit Clocks(std::vector<Time> ahead) : ahead_(std::move(ahead)) {
    for (int process = 0; process < static_cast<int>(ahead_.size()); ++process) {
      clocks_.push_back(std::make_unique<RunClock>(process, static_cast<int>(ahead_.size())));
    }
  }
  RunClock& of(int process) { return *clocks_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] Time shown(int process) const {
    return now_ + ahead_[static_cast<std::size_t>(process)];
  }
  void pass(Time time) { now_ += time; }
  // Sends a beat that arrives after the time `takes`.
  void send(int from, int to, Time takes) {
    const Beat beat = of(from).beat(to, shown(from));
    pass(takes);
    of(to).heard(from, beat, shown(to));
  }
  void drift(int process, Time by) { ahead_[static_cast<std::size_t>(process)] += by; }
  [[nodiscard]] Time error(int process) {
    return std::chrono::abs(of(process).ahead() - ahead_[static_cast<std::size_t>(process)]);
  }

 private:
  std::vector<Time> ahead_;
  Time now_ = 1h;
  std::vector<std::unique_ptr<RunClock>> clocks_;
};

TEST(RunClock, is_known_to_half_a_round_trip_after_the_first) {
  Clocks clocks({0ns, 77h});
  EXPECT_EQ(clocks.of(1).error(clocks.shown(1)), Time::max()) << "nothing is known yet";
  clocks.send(1, 0, 30us);
  clocks.pass(3s);  // the wait before the answer does not count
  clocks.send(0, 1, 10us);
  EXPECT_LE(clocks.error(1), 20us);
  EXPECT_EQ(clocks.of(1).error(clocks.shown(1)), 20us);
  EXPECT_EQ(clocks.of(0).ahead(), 0ns);
}

TEST(RunClock, goes_down_the_tree) {
  Clocks clocks({0ns, -5h, 9min, 400h});  // 3 is a child of 1
  for (const auto& [child, parent] : {std::pair(1, 0), {3, 1}, {2, 0}}) {
    clocks.send(child, parent, 50us);
    clocks.send(parent, child, 50us);
    EXPECT_LE(clocks.error(child), 1us) << child;
  }
}

TEST(RunClock, keeps_the_best_that_it_was_told) {
  Clocks clocks({0ns, 3h});
  clocks.send(1, 0, 20us);
  clocks.send(0, 1, 20us);
  for (int i = 0; i < 10; ++i) {  // the processes are busy and read answers late
    clocks.pass(500ms);
    clocks.send(1, 0, 300ms);
    clocks.pass(500ms);
    clocks.send(0, 1, 1ms);
    EXPECT_LE(clocks.error(1), 1us) << i;
  }
}

TEST(RunClock, follows_clocks_that_drift) {
  Clocks clocks({0ns, 3h});
  std::mt19937 random(7);
  Time worst{0};
  for (int i = 0; i < 2000; ++i) {
    clocks.pass(500ms);
    clocks.drift(1, 10us);  // 20 µs in a second
    clocks.send(1, 0, Time(20'000 + random() % 100'000));
    clocks.send(0, 1, Time(20'000 + random() % 100'000));
    worst = std::max(worst, clocks.error(1));
    ASSERT_LE(clocks.error(1), clocks.of(1).error(clocks.shown(1))) << i;
  }
  EXPECT_LE(worst, 200us);
}

TEST(RunClock, of_one_host_is_exact) {
  Clocks clocks({0ns, 0ns});
  for (int i = 1; i < 10; ++i) {
    clocks.send(1, 0, Time(1000 * i));
    clocks.send(0, 1, 50us);
    EXPECT_EQ(clocks.of(1).ahead(), 0ns);
  }
}

TEST(RunClock, ignores_what_cannot_be) {
  Clocks clocks({0ns, 3h});
  clocks.send(1, 0, 20us);
  clocks.send(0, 1, 20us);
  const Time known = clocks.of(1).ahead();
  constexpr Time kMost{std::numeric_limits<std::int64_t>::max()};
  constexpr Time kLeast{std::numeric_limits<std::int64_t>::min()};
  for (const Time time : {kMost, kLeast, Time(-1)}) {
    clocks.of(1).heard(0, {.sent = time, .echo = kMost}, clocks.shown(1));
    clocks.of(1).heard(0, {.sent = kLeast, .echo = time}, clocks.shown(1));
    clocks.of(1).heard(0, {.sent = time, .echo = clocks.shown(1) + 1s}, clocks.shown(1));
    EXPECT_EQ(clocks.of(1).ahead(), known);
    static_cast<void>(clocks.of(1).beat(0, clocks.shown(1)));
  }
}

}  // namespace
}  // namespace ripeline::runtime::network
