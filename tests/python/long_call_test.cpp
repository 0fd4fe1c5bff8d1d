#include "python/long_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "python/failure.h"
#include "python/program.h"
#include "spec/long_work.h"

// With -Og, g++ 12 takes a std::stop_source that is being constructed for one that is read.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace ripeline::python {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kNothing = [](const LongCall&) {};

const Program::Judging kUntimed{.microbatches = {}, .steps = {}, .repairs = true, .times = false};

struct Enough {};

// A look that ends the call after this time.
auto ends_after(Clock::duration time) {
  return [end = Clock::now() + time](const LongCall&) {
    if (Clock::now() >= end) throw Enough();
  };
}

void work_until_stopped() {
  for (;;) spec::stop_point();
}

TEST(LongCall, runs_the_work_in_another_thread_and_returns_when_it_has_ended) {
  std::thread::id id;
  run_long([&](LongCall&) { id = std::this_thread::get_id(); }, kNothing);
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(LongCall, throws_what_the_work_throws) {
  EXPECT_THROW(run_long([](LongCall&) { throw std::runtime_error("no"); }, kNothing),
               std::runtime_error);
  EXPECT_THROW(
      run_long([](LongCall&) { static_cast<void>(Program::of_text("pipeline", {})); }, kNothing),
      Failure);
}

TEST(LongWork, tells_of_a_part_and_of_no_parts_within_it) {
  std::vector<std::string> parts;
  std::stop_source stop;
  const spec::LongWork work(stop.get_token(), [&](const auto& part) { parts.push_back(part); });
  EXPECT_EQ(spec::in_part("outer",
                          [] {
                            spec::part_begins("inner");
                            return 1;
                          }),
            1);
  spec::part_begins("last");
  EXPECT_EQ(parts, (std::vector<std::string>{"outer", "last"}));
  const auto stopped = [&] {
    stop.request_stop();
    spec::stop_point();
  };
  EXPECT_THROW(spec::in_part("stopped", stopped), spec::Stopped);
}

TEST(LongCall, looks_in_the_calling_thread_and_sees_the_progress) {
  std::vector<Progress> seen;
  const auto look = [&, here = std::this_thread::get_id()](const LongCall& call) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    seen.push_back(call.progress());
  };
  run_long(
      [](LongCall& call) {
        spec::part_begins("first");
        call.found(3, 2);
        std::this_thread::sleep_for(6 * kSlice);
      },
      look);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().part, "first");
  EXPECT_EQ(seen.back().best, 3);
  EXPECT_EQ(seen.back().bound, 2);
  EXPECT_GE(seen.back().seconds, 0.02);
}

TEST(LongCall, ends_the_work_and_its_thread_before_it_passes_on_what_the_look_throws) {
  std::atomic<bool> works = false;
  const auto work = [&](LongCall&) {
    works = true;
    try {
      work_until_stopped();
    } catch (const spec::Stopped&) {
      std::this_thread::sleep_for(10ms);
      works = false;
      throw;
    }
  };
  EXPECT_THROW(run_long(work, ends_after(50ms)), Enough);
  EXPECT_FALSE(works);
}

// Eight threads verify, simulate and stop at random, as Python's would. Sanitizers look on.
// RIPELINE_SECONDS says how long.
TEST(LongCall, eight_threads_verify_simulate_and_are_stopped_at_random) {
  const char* const given = std::getenv("RIPELINE_SECONDS");
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(given ? std::atof(given) : 2));
  const Options four{.defines = {"ranks=4"}, .dispatch = {}, .placement = {}};
  const Program small = Program::of_name("zb_v", four);
  const Program large =
      Program::of_name("bf", {.defines = {"ranks=96"}, .dispatch = {}, .placement = {}});
  const std::string verdict = small.verify(kUntimed).json();
  const std::string run = small.simulate("8", {}).json();
  std::atomic<int> stopped = 0;
  const auto use = [&](unsigned number) {
    std::mt19937 random(number);
    while (Clock::now() < end) {
      const std::chrono::milliseconds time(random() % 100);
      try {
        switch (random() % 4) {
          case 0:
            run_long([&](LongCall&) { static_cast<void>(large.verify({})); }, ends_after(time));
            break;
          case 1:
            run_long([&](LongCall&) { static_cast<void>(large.simulate("2048", {})); },
                     ends_after(time));
            break;
          case 2:
            run_long([&](LongCall&) { EXPECT_EQ(small.verify(kUntimed).json(), verdict); },
                     kNothing);
            break;
          default:
            run_long([&](LongCall&) { EXPECT_EQ(small.simulate("8", {}).json(), run); }, kNothing);
        }
      } catch (const Enough&) {
        ++stopped;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned number = 0; number < 8; ++number) threads.emplace_back(use, number);
  threads.clear();
  EXPECT_GE(stopped, 8);
}

}  // namespace
}  // namespace ripeline::python
