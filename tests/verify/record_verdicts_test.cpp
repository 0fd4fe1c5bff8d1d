// Tests that record_verdicts writes the same file in each run, and that --compare notices each
// field that differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

namespace ripeline {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string output;  // from both streams
};

Ran run(const std::string& arguments) {
  const std::string command = std::string(RIPELINE_RECORD_PROGRAM) + " " + arguments + " 2>&1";
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    ran.output += static_cast<char>(c);
  }
  ran.status = WEXITSTATUS(pclose(pipe));
  return ran;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr const char* kSlice = "--programs 60 --depths 2 --library no --least 1";

class RecordVerdicts : public ::testing::Test {
 protected:
  RecordVerdicts()
      : folder_(std::filesystem::temp_directory_path() /
                ("record_verdicts_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~RecordVerdicts() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::string record(const std::string& name, const std::string& options = kSlice) const {
    const Ran ran = run(options + " --out " + file(name));
    EXPECT_EQ(ran.status, 0) << ran.output;
    return text_of(file(name));
  }

  // Writes a file of these records, which compare() can read.
  void write(const std::string& name, const nlohmann::json& records) const {
    std::ofstream(file(name)) << records.dump();
  }
  Ran compare(const std::string& before, const std::string& after) const {
    return run("--compare " + file(before) + " " + file(after));
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(RecordVerdicts, says_the_same_twice) {
  const std::string first = record("first");
  EXPECT_EQ(record("second"), first);
  const Ran same = compare("first", "second");
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.output, "0 entries differ, of 63 before and 63 after\n");

  // The file has every kind of answer.
  std::map<std::string, int> verdicts;
  std::map<std::string, int> fields;
  for (const auto& record : nlohmann::json::parse(first)) {
    if (record["id"] == "options") continue;
    ++verdicts[record.value("verdict", "none")];
    for (const auto& [field, value] : record.items()) ++fields[field];
  }
  EXPECT_GE(verdicts["proved"], 10);
  EXPECT_GE(verdicts["refuted"], 10);
  EXPECT_GE(verdicts["unknown"], 1);
  EXPECT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(fields["repairs"], verdicts["refuted"]);
  EXPECT_GE(fields["least"], 10);
  EXPECT_GE(fields["every_rank_from"], 1);
  EXPECT_THAT(first, HasSubstr("\"makespan\":"));
  EXPECT_GE(fields["runs"], verdicts["proved"] - fields["every_rank_from"]);
}

TEST_F(RecordVerdicts, writes_the_programs_of_all_shards_together) {
  const std::string options = "--programs 20 --depths 0 --library no ";
  const auto whole = nlohmann::json::parse(record("whole", options));
  std::map<std::string, nlohmann::json> records;
  for (const std::string shard : {"0", "1", "2"}) {
    for (const auto& one :
         nlohmann::json::parse(record(shard, options + "--shard " + shard + "/3"))) {
      records[one["id"]] = one;
    }
  }
  ASSERT_EQ(records.size(), whole.size());
  for (const auto& one : whole) EXPECT_EQ(records[one["id"]], one);
}

TEST_F(RecordVerdicts, notices_every_field_that_differs) {
  const auto before = nlohmann::json::parse(R"([
    {"id": "a", "verdict": "proved", "memory": {"method": "cuts", "peak": {"x": [4, 3]}}},
    {"id": "b", "verdict": "unknown",
     "deadlock": {"reason": "Of 2 microbatches no run of 7 tasks was found in all of the states."}},
    {"id": "c", "verdict": "proved"}])");
  write("before", before);
  auto after = before;
  after[0]["memory"]["peak"]["x"] = {4, 2};
  after[0]["memory"].erase("method");
  after[1]["deadlock"]["reason"] =
      "Of 2 microbatches no run of 9 tasks was found in all of the states.";
  after[1]["deadlock"]["method"] = "states";
  after[2]["id"] = "d";
  write("after", after);
  const Ran differs = compare("before", "after");
  EXPECT_EQ(differs.status, 1);
  EXPECT_EQ(differs.output,
            "a\n"
            "  memory.method: cuts -> (absent)\n"
            "  memory.peak.x: [4,3] -> [4,2]\n"
            "b\n"
            "  deadlock.reason: … 7 … -> … 9 …\n"
            "  deadlock.method: (absent) -> states\n"
            "c\n"
            "  id: present -> (absent)\n"
            "d\n"
            "  id: (absent) -> present\n"
            "       1  deadlock.method\n"
            "       1  deadlock.reason\n"
            "       2  id\n"
            "       1  memory.method\n"
            "       1  memory.peak.x\n"
            "4 entries differ, of 3 before and 3 after\n");
}

TEST_F(RecordVerdicts, notices_a_verdict_that_was_doctored) {
  auto records = nlohmann::json::parse(record("before", "--programs 5 --depths 0 --library no"));
  records[1]["verdict"] = "doctored";
  write("after", records);
  const Ran differs = compare("before", "after");
  EXPECT_EQ(differs.status, 1);
  EXPECT_THAT(differs.output, HasSubstr(records[1]["id"].get<std::string>() + "\n  verdict: "));
  EXPECT_THAT(differs.output, HasSubstr("-> doctored\n       1  verdict\n"));
}

TEST_F(RecordVerdicts, refuses_what_it_cannot_read) {
  for (const char* wrong : {"--programs", "--programs few", "--repairs 0", "--shard 2/2",
                            "--library some", "--compare one", "--steps 3"}) {
    const Ran refused = run(wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.output, HasSubstr("usage: record_verdicts")) << wrong;
  }
  EXPECT_EQ(run("--help").status, 0);
  write("list", nlohmann::json::array());
  write("object", {{"id", "a"}});
  write("unnamed", {{{"verdict", "proved"}}});
  write("twice", {{{"id", "a"}}, {{"id", "a"}}});
  for (const char* wrong : {"none", "object", "unnamed", "twice"}) {
    const Ran refused = compare("list", wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.output, HasSubstr(file(wrong))) << wrong;
  }
  EXPECT_EQ(compare("list", "list").status, 0);
  // If the file cannot be written, the program reports this and fails.
  const Ran unwritten = run("--programs 1 --depths 0 --library no --out " + file("none/file"));
  EXPECT_EQ(unwritten.status, 2);
  EXPECT_THAT(unwritten.output, HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace ripeline
