// Tests a rank's record of a run, and the file that contains it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "trace/read.h"
#include "trace/write.h"

namespace ripeline::runtime {
namespace {

using testing_support::ProvedText;
using testing_support::ToyRun;

TEST(Trace, has_every_task_and_every_message_once) {
  constexpr int kSteps = 2;
  constexpr int kMicrobatches = 5;
  const ProvedText proved("bf", 3);
  ToyRun run(proved, {});
  std::vector<trace::Record> traces(3);
  for (int r = 0; r < 3; ++r) run.rank(r).options.trace = &traces[static_cast<std::size_t>(r)];
  run.run(kSteps, kMicrobatches);

  const testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/trace.json";
  const trace::About about(proved.facts(), {.microbatches = kMicrobatches});
  trace::Writer writer(path, about);
  for (const trace::Record& trace : traces) writer.add(trace);
  ASSERT_TRUE(writer.finish().ok());

  std::ifstream in(path);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["otherData"]["program"], proved.facts().name);
  EXPECT_EQ(json["otherData"]["hash"].get<std::string>().size(), 16U);
  EXPECT_EQ(json["otherData"]["ranks"], 3);
  std::map<std::string, int> phases;
  std::map<std::string, int> tasks;
  for (const auto& event : json["traceEvents"]) {
    const std::string phase = event["ph"];
    ++phases[phase];
    if (phase != "X") continue;
    ++tasks[event["name"].get<std::string>() + " of step " + event["args"]["step"].dump()];
    EXPECT_EQ(event["pid"].dump(), event["name"].get<std::string>().substr(0, 1));
    EXPECT_GE(event["dur"].get<double>(), 0);
  }
  EXPECT_EQ(tasks.size(), std::size_t{kSteps * 3 * 2 * kMicrobatches});
  for (const auto& [name, count] : tasks) EXPECT_EQ(count, 1) << name;
  EXPECT_EQ(tasks.count("2B4 of step 1"), 1U);
  EXPECT_EQ(phases["i"], kSteps * 4 * kMicrobatches) << "two links, both ways";
  EXPECT_EQ(phases["M"], 3 * 3) << "ranks, their engine and their messages";

  auto reading = trace::read(path);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  for (const trace::MessageEvent& message : file.record.messages) {
    EXPECT_LE(message.sent, message.arrived) << "one clock";
  }
}

}  // namespace
}  // namespace ripeline::runtime
