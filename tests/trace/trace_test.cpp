// Tests the trace file: a written file can be read back, and a wrong file is refused with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "core/print.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/runtime/ranks.h"
#include "tests/simulate/runs.h"
#include "trace/read.h"
#include "trace/write.h"

namespace ripeline::trace::trace_test {
namespace {

using core::Time;
using testing::HasSubstr;

constexpr const char* kText = R"(
pipeline rich {
  microbatches 1 .. 9;
  stages 3;
  place s on s < 2 ? s : 0;
  channel inbox per stage { slots 2; }
  op F forward { needs F at prev via inbox;  acquires memory 3 leaving 1; }
  op O offload on copy_out { needs F at here, F at prev of m - 1;  releases memory 3; }
  op G reduce once { needs O at here of all; }
  resource memory per rank { unit "MiB"; capacity 40; }
  dispatch ready;
}
)";

// A program with a task that needs all microbatches of another rank.
constexpr const char* kJoins = R"(
pipeline joins {
  microbatches any;
  stages 3;
  place s on s;
  op F forward { needs F at prev;  acquires memory; }
  op B backward { needs F at here, B at next;  releases memory; }
  op R reduce once { needs B at here of all, F at prev of all; }
  resource memory per stage { capacity 8; }
  dispatch ready;
}
)";

spec::Program program_of(const char* text) { return spec::compile({"rich.ripe", text}).value(); }

Record some_events() {
  Record record;
  record.task(0, {0, 0}, Time{0}, Time{1'000'001});
  record.task(3, {1, 8}, Time{1'000'001}, Time{1'000'001});
  record.tasks.back().deferral = {.parameters = 14, .deferred = 10, .bytes = 5'000'000'000};
  record.task(0, {3, 2}, Time{123'456'789'012'340}, Time{123'456'789'012'345});
  record.message(3, {0, 7}, Time{-5}, Time{1'500});
  record.idle.push_back({.rank = 1,
                         .engine = core::Engine::copy_out,
                         .cause = Cause::slot,
                         .next = {1, 0},
                         .start = Time{10},
                         .end = Time{1'000'000},
                         .step = 2});
  record.idle.push_back(
      {.rank = 0, .cause = Cause::done, .next = {}, .start = Time{10}, .end = Time{11}});
  return record;
}

std::string written(const About& about, const Record& record) {
  const testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/trace.json";
  Writer writer(path, about);
  writer.add(record);
  EXPECT_TRUE(writer.finish().ok());
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(TraceFile, is_read_back_as_it_was_written) {
  const spec::Program program = program_of(kText);
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9,
                                      .source = Source::simulated,
                                      .seed = 18'446'744'073'709'551'615U,
                                      .unit = {"us", 1000},
                                      .costs = "a \"profile\"\n",
                                      .params = {{"ranks", 3}, {"chunks", -1}},
                                      .dispatch = "ready by p"});
  const std::string text = written(about, some_events());
  auto reading = read_text(text);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_EQ(file.record, some_events());
  EXPECT_EQ(file.about.run, about.run);
  EXPECT_EQ(file.about.to_json(), about.to_json());
  EXPECT_EQ(file.about.facts().ops.size(), program.ops.size());
  EXPECT_EQ(core::task_name(file.about.facts(), {0, 3}), core::task_name(storage.facts(), {0, 3}));
  EXPECT_EQ(core::pool_name(file.about.facts(), 0), "memory of rank 0");
  EXPECT_EQ(file.about.facts().pools[0].unit, "MiB");
  EXPECT_EQ(file.about.facts().inboxes[0].channel, "inbox");
  EXPECT_TRUE(nlohmann::json::accept(text));
}

// A file has microbatch numbers; a record has indices into the microbatches of each lane.
TEST(TraceFile, of_lanes_that_have_some_microbatches_names_those) {
  const spec::Program program = program_of(R"(
pipeline p { microbatches any; stages 2; place s on s;
  op F forward { needs F at prev; }
  op P on m where m % 3 == 2 { needs F at prev; }
  dispatch ready; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9});
  Record record;
  record.task(0, {1, 1}, Time{0}, Time{1});     // 0P5
  record.message(0, {1, 8}, Time{0}, Time{1});  // 0F8 to 1P
  record.idle.push_back({.rank = 1, .next = {3, 2}, .start = Time{0}, .end = Time{1}});  // 1P8
  const std::string text = written(about, record);
  EXPECT_THAT(text, HasSubstr(R"("name":"0P5","cat":"P","pid":0,"tid":0)"));
  EXPECT_THAT(text, HasSubstr(R"("lane":1,"microbatch":5)"));
  EXPECT_THAT(text, HasSubstr(R"("lane":3,"microbatch":8)"));
  auto reading = read_text(text);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_EQ(file.record, record);
  EXPECT_EQ(file.about.to_json(), about.to_json());
  EXPECT_TRUE(file.about.facts().edges[1].crosses_shares);
  EXPECT_EQ(core::task_name(file.about.facts(), {1, 1}), "0P5");

  auto json = nlohmann::json::parse(text);
  for (auto& event : json["traceEvents"]) {
    if (event["name"] == "0P5") event["args"]["microbatch"] = 4;
  }
  EXPECT_THAT(read_text(json.dump()).message(), HasSubstr("a task is not of its program"));
  json = nlohmann::json::parse(text);
  json["otherData"]["lanes"][1][6] = {65, 0};
  EXPECT_THAT(read_text(json.dump()).message(), HasSubstr("a lane has no such share"));
}

TEST(TraceFile, of_several_replicas_says_on_what_they_agree) {
  const spec::Program program = program_of(R"(
pipeline p { microbatches any; stages 2; place s on s; data_parallel 3;
  op F forward { needs F at prev; }
  op G reduce once on comm { needs F at here of all; }
  dispatch ready; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 2});
  Record record;
  record.task(0, {1, 0}, Time{0}, Time{1});
  record.message(0, {0, 1}, Time{0}, Time{1});
  record.idle.push_back(
      {.rank = 1, .engine = core::Engine::comm, .next = {3, 0}, .start = Time{0}, .end = Time{1}});
  const std::string text = written(about, record);
  EXPECT_THAT(text, HasSubstr(R"("name":"0G0","cat":"G","pid":0,"tid":3)"));
  EXPECT_THAT(text, HasSubstr(R"("tid":3,"args":{"name":"comm"})"));
  EXPECT_THAT(text, HasSubstr(R"("tid":4,"args":{"name":"messages"})"));
  auto reading = read_text(text);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_EQ(file.record, record);
  EXPECT_EQ(file.about.to_json(), about.to_json());
  EXPECT_EQ(file.about.facts().replicas, 3);
  EXPECT_EQ(file.about.facts().agreeing(1, core::Engine::comm),
            (core::Agreeing{core::Agreeing::Who::replicas, 3}));
  auto json = nlohmann::json::parse(text);
  json["otherData"]["reductions"] = {4};
  EXPECT_THAT(read_text(json.dump()).message(), HasSubstr("replicas agree on no such lane"));
}

// Chrome draws overlapping events of one thread as if one of them were inside the other.
TEST(TraceFile, of_two_tasks_at_once_one_has_a_thread_of_its_own) {
  const spec::Program program = program_of(R"(
pipeline p { microbatches any; stages 1; place s on s;
  op F forward { } op B backward { needs F at here; } op O offload on copy_out { needs F at here; }
  pair F, B; dispatch ready; })");
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 4});
  Record record;  // in the order in which they end
  record.task(0, {0, 0}, Time{0}, Time{2});
  record.task(0, {2, 0}, Time{2}, Time{3});  // on another engine
  record.task(0, {0, 1}, Time{4}, Time{5});
  record.task(0, {1, 0}, Time{2}, Time{6});
  record.task(0, {0, 2}, Time{5}, Time{8});
  record.task(0, {1, 1}, Time{8}, Time{9});
  const std::string text = written(about, record);
  std::map<std::string, int> thread;
  std::vector<int> named;
  const auto json = nlohmann::json::parse(text);
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") thread[event["name"]] = event["tid"];
    if (event["name"] == "thread_name") named.push_back(event["tid"]);
  }
  const std::map<std::string, int> expected = {{"0F0", 0}, {"0B0", 0}, {"0F1", 5},
                                               {"0F2", 5}, {"0B1", 0}, {"0O0", 1}};
  EXPECT_EQ(thread, expected);
  EXPECT_EQ(named, (std::vector<int>{0, 1, 4, 5}));
  EXPECT_THAT(text, HasSubstr(EventText(about).of(record)));
  auto reading = read_text(text);
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_EQ(file.record, record);
}

TEST(TraceFile, outlives_the_facts_that_it_was_made_of) {
  File file;
  {
    const spec::Program program = program_of(kText);
    const core::OwnedFacts storage = lower::facts_of(program);
    const About about(storage.facts(), {.microbatches = 9});
    auto reading = read_text(written(about, some_events()));
    ASSERT_TRUE(reading.ok());
    file = std::move(reading).value();
  }
  File moved = std::move(file);
  EXPECT_EQ(moved.about.facts().name, "rich");
  EXPECT_EQ(moved.about.facts().ops[1].name, "O");
}

TEST(TraceFile, of_many_blocks_is_whole) {
  const spec::Program program = program_of(kText);
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9});
  Record record;
  for (int i = 0; i < 40'000; ++i) record.task(i, {i % 3, i % 9}, Time{i}, Time{2 * i});
  const std::string text = written(about, record);
  ASSERT_GT(text.size(), std::size_t{3'000'000}) << "more than one block";
  auto reading = read_text(text);
  ASSERT_TRUE(reading.ok());
  File& file = reading.value();
  EXPECT_EQ(file.record, record);
  EXPECT_EQ(text, opening_text(about) + ",\n" + EventText(about).of(record) + kClosing);
}

// Each message has an arrow, from inside its producer's event to the start of its consumer.
TEST(TraceFile, has_an_arrow_for_each_message) {
  for (const char* text : {"bf", "zb_v", kJoins}) {
    SCOPED_TRACE(text);
    const spec::Program program = testing_support::compiled_schedule(text);
    testing_support::TableRun run(program);
    Record record;
    ASSERT_TRUE(run.run(5, {}, &record).status.ok());
    for (TaskEvent& e : record.tasks) e.step = 3;
    const core::ProgramFacts& facts = run.storage.facts();
    const About about(facts, {.microbatches = 5});
    std::map<std::tuple<int, int, std::string>, std::pair<double, double>> boxes;
    std::map<std::int64_t, nlohmann::json> starts;
    std::map<std::int64_t, nlohmann::json> ends;
    const auto json = nlohmann::json::parse(written(about, record));
    for (const auto& e : json["traceEvents"]) {
      const double at = e.value("ts", 0.0);
      if (e["ph"] == "X") boxes[{e["pid"], e["tid"], e["name"]}] = {at, at + double(e["dur"])};
      if (e["ph"] != "s" && e["ph"] != "f") continue;
      EXPECT_TRUE((e["ph"] == "s" ? starts : ends).emplace(e["id"], e).second);
    }
    EXPECT_EQ(starts.size(), record.messages.size());
    ASSERT_EQ(ends.size(), starts.size());
    for (const auto& [id, end] : ends) {
      ASSERT_TRUE(starts.contains(id));
      const nlohmann::json& start = starts[id];
      EXPECT_EQ(start["name"], end["name"]);
      EXPECT_EQ(start["cat"], end["cat"]);
      EXPECT_EQ(end["bp"], "e");
      EXPECT_NE(start["pid"], end["pid"]);
      EXPECT_LT(double(start["ts"]), double(end["ts"]));
    }
    for (const MessageEvent& m : record.messages) {
      const core::EdgeFacts& edge = facts.edges[static_cast<std::size_t>(m.message.edge)];
      const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(edge.producer)];
      const std::string producer = core::task_name(facts, {edge.producer, m.message.microbatch});
      const auto& [from, to] = boxes.at({lane.rank, static_cast<int>(lane.engine), producer});
      EXPECT_TRUE(std::any_of(starts.begin(), starts.end(), [&](const auto& s) {
        return s.second["pid"] == lane.rank && double(s.second["ts"]) >= from &&
               double(s.second["ts"]) < to;
      })) << producer;
    }
    auto reading = read_text(written(about, record));
    ASSERT_EQ(reading.message(), "");
    File& file = reading.value();
    EXPECT_EQ(file.record, record) << "readers leave arrows out";
  }
}

// The file as another program might rewrite it: pretty-printed, fields reordered, events added.
TEST(TraceFile, may_be_rewritten_by_another_program) {
  const spec::Program program = program_of(kText);
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9});
  auto json = nlohmann::json::parse(written(about, some_events()));
  json["traceEvents"].push_back(
      {{"ph", "C"}, {"name", "x, \\\"y\\\" [{"}, {"args", {{"a", {1, true}}}}});
  json["traceEvents"].push_back(
      {{"ph", "X"}, {"tid", "GPU"}, {"ts", 1e3}, {"args", {{"lane", "fast"}}}});
  json["another"] = {{"field", {-1.5e-3, nullptr, ""}}};
  auto reading = read_text(json.dump(2));
  ASSERT_EQ(reading.message(), "");
  File& file = reading.value();
  EXPECT_EQ(file.record.messages, some_events().messages);
  EXPECT_EQ(file.record.idle, some_events().idle);
  EXPECT_EQ(file.record.tasks.size(), 3U);
}

TEST(TraceFile, that_does_not_fit_is_refused) {
  const spec::Program program = program_of(kText);
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9});
  const std::string good = written(about, some_events());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  };
  const struct {
    std::string text;
    const char* says;
  } kCases[] = {
      {"", "no JSON of a trace at byte"},
      {"[]", "it has no otherData"},
      {"{}", "it has no otherData"},
      {R"({"traceEvents":[]})", "it has no otherData"},
      {with("traceEvents", "events"), "it has no traceEvents"},
      {with("ripeline.trace/2", "ripeline.trace/1"), "its schema is 'ripeline.trace/1'"},
      {with("\"compute\"", "\"gpu\""), "otherData: 'gpu' is not known"},
      {with("\"pools\"", "\"puddles\""), "key 'pools' not found"},
      {with("\"lane\":0", "\"lane\":99"), "a task is not of its program"},
      {with("\"microbatch\":8", "\"microbatch\":9"), "a task is not of its program"},
      {with("\"edge\":0", "\"edge\":77"), "a message is not of its program"},
      {with("\"pid\":1,\"tid\":1,\"ts\"", "\"pid\":3,\"tid\":1,\"ts\""), "an idle interval is not"},
      {good.substr(0, good.size() - 20), "no JSON of a trace at byte"},
      {good.substr(0, 100), "no JSON of a trace at byte"},
      {with("\"ts\":0,", "\"ts\":1e99,"), "no JSON of a trace at byte"},
      {with("\"ts\":0,", "\"ts\":18446744073709551615,"), "no JSON of a trace at byte"},
      {with("\"ts\":0,", "\"ts\":-9223372036854775808,"), "no JSON of a trace at byte"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(read_text(c.text).message(), HasSubstr(c.says));
  }
  EXPECT_THAT(read("/nowhere/trace.json").message(),
              HasSubstr("/nowhere/trace.json: cannot be read"));
  Writer nowhere("/nowhere/trace.json", about);
  EXPECT_THAT(nowhere.finish().message(), HasSubstr("/nowhere/trace.json: cannot be written"));
}

TEST(TraceFile, has_microseconds_of_any_form_and_they_are_read_as_nanoseconds) {
  const spec::Program program = program_of(kText);
  const core::OwnedFacts storage = lower::facts_of(program);
  const About about(storage.facts(), {.microbatches = 9});
  const std::string good = written(about, some_events());
  const auto with_start = [&](const std::string& start) {
    const std::string from = "\"ts\":0,";
    std::string text = good;
    return text.replace(text.find(from), from.size(), "\"ts\":" + start + ",");
  };
  const struct {
    const char* text;
    std::int64_t nanoseconds;
  } kCases[] = {{"0", 0},        {"1", 1000},         {"1.5", 1500},      {"0.001", 1},
                {"-0.25", -250}, {"12.34567", 12345}, {"1e3", 1'000'000}, {"1.25E+1", 12500}};
  for (const auto& c : kCases) {
    auto reading = read_text(with_start(c.text));
    ASSERT_EQ(reading.message(), "") << c.text;
    File& file = reading.value();
    EXPECT_EQ(file.record.tasks.front().start, Time{c.nanoseconds}) << c.text;
  }
  for (const char* bad : {"", "x", "1.5.5", "--1", "99999999999999999999", "1e40", "nan"}) {
    EXPECT_FALSE(read_text(with_start(bad)).ok()) << bad;
  }
}

}  // namespace
}  // namespace ripeline::trace::trace_test
