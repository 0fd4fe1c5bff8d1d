// Tests `ripeline emulate` as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/runtime/ranks.h"
#include "trace/read.h"

namespace ripeline::cli::emulate_test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Outcome {
  int exit_code = -1;
  std::string out;
};

Outcome ripeline(const std::string& arguments, const char* redirect = "2>&1") {
  const std::string command =
      std::string("timeout 60 ") + RIPELINE_PROGRAM + " " + arguments + " " + redirect;
  std::FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    outcome.out.append(part.data(), n);
  }
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

Outcome emulate(const std::string& arguments, const char* redirect = "2>&1") {
  return ripeline("emulate " + arguments, redirect);
}

TEST(EmulateCommand, reports_as_simulate_does_and_what_the_clock_did) {
  for (const char* how : {"", " --processes"}) {
    SCOPED_TRACE(how);
    const Outcome text = emulate(std::string("1f1b -m 8 --unit 8ms") + how);
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("4 ranks, 8 microbatches, 64 tasks, 48 messages"));
    EXPECT_THAT(text.out, ContainsRegex("wall \\(makespan\\) ([3-9][0-9]|[1-9][0-9][0-9])"));
    EXPECT_THAT(text.out, HasSubstr("clock: 1 unit is 8 ms"));
    EXPECT_THAT(text.out, HasSubstr("simulated: wall 33, the same order on every rank"));
    const Outcome found =
        emulate(std::string("1f1b -m 8 --unit 8ms --format json") + how, "2> /dev/null");
    const json report = json::parse(found.out);
    EXPECT_EQ(report["schema"], "ripeline.simulate/2");
    EXPECT_GE(report["wall"].get<double>(), 33);
    EXPECT_EQ(report["peak"]["activation"], json({4, 3, 2, 1}));
    EXPECT_EQ(report["emulated"]["unit_ms"], 8);
    EXPECT_EQ(report["emulated"]["simulated_wall"], 33);
    EXPECT_EQ(report["emulated"]["other_order_on"], json::array());
  }
}

TEST(EmulateCommand, writes_a_trace_of_an_emulated_run) {
  const ripeline::testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.json";
  ASSERT_EQ(emulate("bf -m 4 --unit us --latency 3 --trace " + path).exit_code, 0);
  auto reading = ripeline::trace::read(path);
  ASSERT_EQ(reading.message(), "");
  ripeline::trace::File& file = reading.value();
  EXPECT_EQ(file.about.run.source, ripeline::trace::Source::emulated);
  EXPECT_EQ(file.about.run.unit.name, "us");
  EXPECT_EQ(file.record.tasks.size(), 32U);
  EXPECT_EQ(file.record.messages.size(), 24U);
  for (const auto& message : file.record.messages) {
    EXPECT_GE(message.arrived - message.sent, ripeline::core::Time{3000});
  }
  EXPECT_FALSE(file.record.idle.empty());
  // The explanation has no wait for slots, since there are no slots, and it explains all the time.
  const Outcome why = ripeline("why " + path + " 0B3");
  EXPECT_EQ(why.exit_code, 0);
  EXPECT_THAT(why.out, HasSubstr("the host is busy"));
  EXPECT_THAT(why.out, testing::Not(HasSubstr("waits at its sender")));
  EXPECT_THAT(why.out, testing::Not(HasSubstr("nothing says why")));
  EXPECT_THAT(ripeline("show " + path).out, HasSubstr("rank 3"));
  EXPECT_THAT(ripeline("compare " + path + " bf -m 4 --unit us").out, HasSubstr("bubble by wall"));
}

TEST(EmulateCommand, of_a_program_that_sticks_exits_with_1) {
  const ripeline::testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/stuck.ripe";
  std::ofstream(path) << "pipeline stuck { microbatches any; stages 2; place s on s;\n"
                         "  op F forward { needs F at prev; acquires activation; }\n"
                         "  op B backward { needs F at here of all, B at next; releases "
                         "activation; }\n"
                         "  resource activation per stage { capacity 2; } dispatch ready; }\n";
  const Outcome threads = emulate(path + " -m 3 --unit 1ms");
  EXPECT_EQ(threads.exit_code, 1);
  EXPECT_THAT(threads.out, HasSubstr("deadlock: nothing runs"));
  EXPECT_THAT(threads.out, HasSubstr("rank 0: 0B0 waits for 0F2"));
  EXPECT_THAT(threads.out, HasSubstr("and it deadlocks"));
  const Outcome processes = emulate(path + " -m 3 --unit 1ms --processes");
  EXPECT_EQ(processes.exit_code, 1);
  EXPECT_THAT(processes.out, HasSubstr("rank 0: 0B0 waits for 0F2"));
}

TEST(EmulateCommand, refuses_what_it_does_not_understand) {
  struct Case {
    const char* arguments;
    const char* says;
  };
  const Case kCases[] = {
      {"1f1b -m 4 --unit 5lightyears", "--unit '5lightyears' is no time, as 5ms"},
      {"1f1b -m 4 --unit 0ms", "--unit '0ms' is no time"},
      {"1f1b -m 4 --unit parsec", "--unit is none of ns, us, ms and s"},
      {"1f1b -m 0", "expected 1 to 1000000000"},
      {"no_such_schedule -m 4", "no_such_schedule"},
      {"- -m 4 --processes < /dev/null", "--processes cannot share standard input"},
  };
  for (const Case& c : kCases) {
    const Outcome outcome = emulate(c.arguments);
    EXPECT_NE(outcome.exit_code, 0) << c.arguments;
    EXPECT_THAT(outcome.out, HasSubstr(c.says)) << c.arguments;
  }
}

}  // namespace
}  // namespace ripeline::cli::emulate_test
