// Work that is stopped has no result, ends soon, and changes nothing for work that comes after it.
#include "spec/long_work.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lower/facts.h"
#include "simulate/run_program.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/programs.h"
#include "tests/support/random_program.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"
#include "verify/verify.h"

// With -Og, g++ 12 takes a std::stop_source that is being constructed for one that is read.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace ripeline::verify {
namespace {

using namespace std::chrono_literals;
using spec::LongWork;
using spec::Program;
using spec::Stopped;
using testing_support::compiled;
using testing_support::random_program_text;
using testing_support::RandomProgramOptions;

// With all features.
RandomProgramOptions all() {
  RandomProgramOptions options;
  options.forks = options.links = options.once = options.before = options.engines = true;
  options.keeping = options.shares = options.pairs = options.groups = options.hints = true;
  options.mixed = true;
  return options;
}

simulate::Timing timing_of(const Program& program, int microbatches) {
  simulate::Timing timing;
  EXPECT_TRUE(simulate::Timing::make(program, microbatches, {}, timing).ok());
  return timing;
}

std::string text_of(const Program& program, Verdict verdict) {
  for (Obligation& o : verdict.obligations) o.seconds = -1;
  return report_text(program, {}, verdict);
}

// The verdict if the work is stopped when the part begins; nullopt if it was stopped before its
// end.
std::optional<Verdict> stopped_at(const Program& program, const std::string& part) {
  std::stop_source stop;
  const LongWork work(stop.get_token(), [&](const std::string& begun) {
    if (begun == part) stop.request_stop();
  });
  try {
    return verify(program);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

TEST(Stop, work_that_was_stopped_before_it_begins_has_no_verdict) {
  std::stop_source stop;
  stop.request_stop();
  for (const spec::LibraryEntry& entry : spec::library()) {
    const Program program = compiled(std::string(entry.text));
    const auto facts = lower::facts_of(program);
    const simulate::Timing timing = timing_of(program, 2);
    const LongWork work(stop.get_token());
    EXPECT_THROW(static_cast<void>(verify(program)), Stopped) << entry.name;
    EXPECT_THROW(static_cast<void>(simulate::run_program(program, facts.facts(), 2, timing, {})),
                 Stopped);
  }
}

TEST(Stop, a_stopped_verdict_is_none_and_a_later_one_is_unchanged) {
  const std::vector<std::string> parts{"once", "collectives", "deadlock", "memory", "messages"};
  int stopped = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Program program = compiled(random_program_text(seed, all()));
    const std::string before = text_of(program, verify(program));
    for (const std::string& part : parts) {
      const auto verdict = stopped_at(program, part);
      if (!verdict) ++stopped;
      if (verdict) {
        EXPECT_EQ(text_of(program, *verdict), before) << "stopped at " << part;
      }
      // Each obligation but the last is followed by the next, which is a stop point.
      if (part != "messages") {
        EXPECT_FALSE(verdict) << part << " of program " << seed;
      }
    }
    EXPECT_EQ(text_of(program, verify(program)), before);
  }
  EXPECT_GE(stopped, 10 * 4);
}

// Returns how many seconds of CPU the work takes after it is told to stop, 100 ms after it began.
template <class Work>
double ends_within(const Work& work) {
  std::stop_source stop;
  std::clock_t told = 0;
  std::jthread other([&] {
    std::this_thread::sleep_for(100ms);
    told = std::clock();
    stop.request_stop();
  });
  const LongWork here(stop.get_token());
  EXPECT_THROW(work(), Stopped) << "a work that takes more than 100 ms is needed";
  const std::clock_t ended = std::clock();
  other.join();
  return static_cast<double>(ended - told) / CLOCKS_PER_SEC;
}

// A tenth of that without sanitizers.
constexpr double kSoon = 1;

Program of_library(const std::string& name, std::int64_t ranks) {
  const spec::Source source{name, std::string(*spec::library_text(name))};
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  return spec::compile(source, options).value();
}

TEST(Stop, ends_a_query_of_the_solver) {
  const Program program = of_library("bf", 512);
  EXPECT_LT(ends_within([&] { static_cast<void>(verify(program)); }), kSoon);
}

TEST(Stop, ends_a_search_of_states) {
  const Program program = compiled(testing_support::join_via("", "via fifo 2"));
  EXPECT_LT(ends_within([&] { static_cast<void>(verify(program)); }), kSoon);
}

TEST(Stop, ends_a_simulated_run) {
  const Program program = of_library("1f1b", 256);
  const auto facts = lower::facts_of(program);
  const simulate::Timing timing = timing_of(program, 4096);
  EXPECT_LT(ends_within([&] {
              static_cast<void>(simulate::run_program(program, facts.facts(), 4096, timing, {}));
            }),
            kSoon);
}

TEST(Stop, concerns_the_innermost_work_of_the_thread_alone) {
  std::stop_source outer;
  std::stop_source inner;
  outer.request_stop();
  const LongWork work(outer.get_token());
  {
    const LongWork nested(inner.get_token());
    EXPECT_NO_THROW(spec::stop_point());
    EXPECT_FALSE(spec::stop_of_work().stop_requested());
  }
  EXPECT_THROW(spec::stop_point(), Stopped);
  std::jthread([] { EXPECT_NO_THROW(spec::stop_point()); }).join();
}

TEST(Stop, parts_are_named_as_they_begin) {
  std::vector<std::string> heard;
  const LongWork work({}, [&](const std::string& part) { heard.push_back(part); });
  static_cast<void>(verify(of_library("bf", 2)));
  EXPECT_EQ(heard,
            (std::vector<std::string>{"once", "collectives", "deadlock", "memory", "messages"}));
}

}  // namespace
}  // namespace ripeline::verify
