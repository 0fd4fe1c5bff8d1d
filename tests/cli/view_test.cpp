// Tests commands that show runs: `step` chooses the tasks that the run chose; pictures are files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/print.h"
#include "tests/runtime/ranks.h"
#include "tests/view/timelines.h"
#include "trace/parts.h"
#include "trace/read.h"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string say(const std::string& arguments) {
  const std::string command = std::string(RIPELINE_PROGRAM) + " " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), n);
  }
  pclose(pipe);
  return text;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Before each start in the run, the debugger is asked: the hint must choose exactly that task.
TEST(StepCommand, the_hint_takes_what_the_run_took) {
  for (const char* schedule : {"bf", "bfw", "b_first", "1f1b_hint"}) {
    SCOPED_TRACE(schedule);
    const ripeline::testing_support::Drawn run(schedule, 6);
    const auto& facts = run.timeline.facts();
    std::string commands;
    std::vector<std::string> expected;
    for (const auto& box : run.timeline.boxes()) {
      const auto& lane = facts.lanes[static_cast<std::size_t>(box.task.lane)];
      const std::string name = std::to_string(lane.stage) +
                               std::string(facts.ops[static_cast<std::size_t>(lane.op)].name) +
                               std::to_string(box.task.microbatch);
      commands += "to " + name + "\\nrank " + std::to_string(lane.rank) + "\\n";
      expected.push_back("takes " + name + ": ");
    }
    const std::string answers = say("--version > /dev/null; printf '" + commands + "' | " +
                                    RIPELINE_PROGRAM + " step " + schedule + " -m 6");
    std::size_t at = 0;
    for (const std::string& line : expected) {
      const std::size_t found = answers.find(line, at);
      ASSERT_NE(found, std::string::npos) << line;
      at = found;
    }
  }
}

// An order has each started task next, even if the task starts beside or with another task.
TEST(StepCommand, the_order_has_next_what_the_run_took) {
  const fs::path folder = fs::temp_directory_path() / "ripeline_view_pairs_test";
  fs::create_directories(folder);
  const std::string file = (folder / "pairs.ripe").string();
  std::ofstream(file) << ripeline::testing_support::kPairs;
  const ripeline::testing_support::Drawn run(ripeline::testing_support::kPairs, 6);
  std::string commands;
  std::vector<std::string> expected;
  for (const auto& box : run.timeline.boxes()) {
    const std::string name = ripeline::core::task_name(run.timeline.facts(), box.task);
    commands += "to " + name + "\\n";
    expected.push_back("its order has " + name + " next, which may start");
  }
  const std::string answers = say("--version > /dev/null; printf '" + commands + "' | " +
                                  RIPELINE_PROGRAM + " step " + file + " -m 6");
  std::size_t at = 0;
  for (const std::string& line : expected) {
    const std::size_t found = answers.find(line, at);
    ASSERT_NE(found, std::string::npos) << line;
    at = found;
  }
  fs::remove_all(folder);
}

TEST(Pictures, are_written_of_programs_traces_and_refutations) {
  const fs::path folder = fs::temp_directory_path() / "ripeline_view_test";
  fs::create_directories(folder);
  const std::string at = folder.string() + "/";
  EXPECT_EQ(
      say("simulate bf -m 4 --trace " + at + "t.json --picture " + at + "p.svg").find("ripeline:"),
      std::string::npos);
  EXPECT_THAT(text_of(folder / "p.svg"), HasSubstr("<title>1B3 "));
  EXPECT_THAT(say("show " + at + "t.json --picture " + at + "t.html"), HasSubstr("rank 3"));
  EXPECT_THAT(text_of(folder / "t.html"), HasSubstr("<!doctype html>"));
  EXPECT_THAT(say("show bf --picture " + at + "p.png"),
              HasSubstr("must end in .svg, .pdf or .html"));
  std::ofstream(folder / "stuck.ripe")
      << "pipeline stuck { microbatches any; stages 2; place s on s;\n"
         "  op F forward { needs F at prev; acquires activation; }\n"
         "  op B backward { needs F at here of all, B at next; releases activation; }\n"
         "  resource activation per stage { capacity 2; } dispatch ready; }\n";
  EXPECT_THAT(say("verify " + at + "stuck.ripe --no-repairs --picture " + at + "s.svg"),
              HasSubstr("refuted"));
  EXPECT_THAT(text_of(folder / "s.svg"), HasSubstr("class=\"wait\""));
  EXPECT_THAT(say("verify bf --picture " + at + "none.svg"), HasSubstr("no run refutes"));
  EXPECT_FALSE(fs::exists(folder / "none.svg"));
  fs::remove_all(folder);
}

class PictureFlags : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(at("stuck.ripe"))
        << "pipeline stuck { microbatches any; stages 2; place s on s;\n"
           "  op F forward { needs F at prev; acquires activation; }\n"
           "  op B backward { needs F at here of all, B at next; releases activation; }\n"
           "  resource activation per stage { capacity 2; } dispatch ready; }\n";
  }
  [[nodiscard]] std::string at(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  // The output of the program, followed by its exit code.
  [[nodiscard]] std::string ended(const std::string& arguments) const {
    return say(arguments + " > " + at("out") + " 2>&1; code=$?; cat " + at("out") +
               "; echo exit $code");
  }

  ripeline::testing_support::TemporaryFolder folder_;
};

// Runs each command that makes a picture, without its output file.
TEST_F(PictureFlags, of_every_command_say_how_wide_and_which_part) {
  for (const std::string& command :
       {std::string("simulate 1f1b -m 4"), std::string("emulate 1f1b -m 4 --unit us"),
        std::string("show 1f1b -m 4"), std::string("compare 1f1b gpipe -m 4"),
        "verify " + at("stuck.ripe") + " --no-repairs"}) {
    SCOPED_TRACE(command);
    const std::string said =
        ended(command + " --picture " + at("p.svg") + " --picture-width 500 --begin 1 --end 2");
    EXPECT_EQ(said.find("ripeline:"), std::string::npos) << said;
    const std::string picture = text_of(at("p.svg"));
    EXPECT_THAT(picture, HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"500\""));
    EXPECT_THAT(picture, HasSubstr(">shown: 1 to 2 of "));
    fs::remove(at("p.svg"));
    EXPECT_THAT(ended(command + " --picture " + at("p.svg") + " --begin 1e9"),
                HasSubstr("--begin 1e+09 is after the end, at "));
    EXPECT_FALSE(fs::exists(at("p.svg")));
  }
}

TEST_F(PictureFlags, that_do_not_fit_are_bad_input) {
  const struct {
    std::string flags;
    std::string said;
  } kCases[] = {
      {"--picture p.svg --begin 3 --end 2", "--begin 3 is not before --end 2"},
      {"--picture p.svg --picture-width 20", "--picture-width"},
      {"--picture p.html --picture-width 500", "--picture-width is for .svg and .pdf"},
      {"--picture-width 500", "--picture-width requires --picture"},
      {"--begin 3", "--begin requires --picture"},
  };
  for (const auto& [flags, expected] : kCases) {
    const std::string said = ended("simulate bf -m 4 " + flags);
    EXPECT_THAT(said, HasSubstr(expected));
    EXPECT_THAT(said, HasSubstr("exit 2"));
  }
}

// The flags of pictures also apply to the text, for commands that print one.
TEST_F(PictureFlags, of_show_are_for_the_text_as_well) {
  EXPECT_THAT(say("show 1f1b -m 8 --begin 20 --end 30"), HasSubstr("|20"));
  EXPECT_THAT(ended("show 1f1b -m 8 --begin 40"), HasSubstr("--begin 40 is after the end, at 33"));
  EXPECT_THAT(ended("show 1f1b -m 8 --begin 40"), HasSubstr("exit 2"));
}

TEST_F(PictureFlags, make_a_pdf_of_the_size_of_the_picture) {
  EXPECT_THAT(ended("simulate 1f1b -m 4 --picture " + at("p.pdf") + " --picture-width 640"),
              HasSubstr("exit 0"));
  const std::string pdf = text_of(at("p.pdf"));
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  // The width of 640 pixels is 480 points, since 96 pixels are 72 points.
  const std::size_t box = pdf.find("MediaBox [ 0 0 480 ");
  EXPECT_NE(box, std::string::npos);
  // Text is stored as text, not as shapes.
  EXPECT_THAT(pdf, HasSubstr("/Font"));
}

TEST_F(PictureFlags, make_no_pdf_without_the_program_for_it) {
  const std::string said =
      say("--version > /dev/null; PATH=/none " RIPELINE_PROGRAM " simulate 1f1b -m 4 --picture " +
          at("p.pdf") + " 2>&1; echo exit $?");
  EXPECT_THAT(said, HasSubstr("a .pdf is made by rsvg-convert, which is not in PATH. On "
                              "Debian: apt-get install librsvg2-bin"));
  EXPECT_THAT(said, HasSubstr("exit 2"));
  EXPECT_THAT(said, testing::Not(HasSubstr("bubble")));
  EXPECT_FALSE(fs::exists(at("p.pdf")));
}

TEST(ShowCommand, has_no_colour_but_on_a_terminal) {
  EXPECT_EQ(say("show bf -m 4").find('\x1b'), std::string::npos);
  EXPECT_NE(say("show bf -m 4 --colour always").find('\x1b'), std::string::npos);
}

// A killed run leaves a partial trace of each rank; here a simulated run is split into such parts.
TEST(ShowCommand, reads_the_parts_of_a_run_and_makes_one_trace_of_them) {
  namespace trace = ripeline::trace;
  const ripeline::testing_support::TemporaryFolder folder;
  const std::string whole = folder.path() + "/whole.json";
  const std::string parts = folder.path() + "/run.json.parts";
  say("simulate bf -D ranks=3 -m 4 --trace " + whole);
  auto reading = trace::read(whole);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  fs::create_directory(parts);
  const auto& facts = file.about.facts();
  for (int rank = 0; rank < 3; ++rank) {
    const auto is_of = [&](ripeline::core::LaneId lane) {
      return facts.lanes[static_cast<std::size_t>(lane)].rank == rank;
    };
    trace::Record record;
    for (const auto& e : file.record.tasks) {
      if (is_of(e.task.lane)) record.tasks.push_back(e);
    }
    for (const auto& e : file.record.messages) {
      if (is_of(facts.edges[static_cast<std::size_t>(e.message.edge)].consumer)) {
        record.messages.push_back(e);
      }
    }
    trace::About about(facts, file.about.run);
    about.part = {rank, 1};
    trace::PartWriter part(parts, about);
    ASSERT_TRUE(part.append(record).ok());
  }
  const std::string drawn = say("show " + parts);
  EXPECT_THAT(drawn, HasSubstr("rank 2"));
  EXPECT_THAT(drawn, testing::Not(HasSubstr("note:")));
  EXPECT_THAT(say("why " + parts + " 1B0"), HasSubstr("1B0"));
  EXPECT_THAT(say("compare " + parts + " " + whole), HasSubstr("bubble by wall"));
  const std::string merged = folder.path() + "/run.json";
  EXPECT_EQ(say("show " + parts + " --trace " + merged), "");
  EXPECT_EQ(say("show " + merged), drawn);

  fs::remove(trace::part_path(parts, 1));
  EXPECT_THAT(say("show " + parts),
              HasSubstr("note: " + parts + ": the part of rank 1 is not here"));
  EXPECT_THAT(say("show " + parts + " --trace " + merged), HasSubstr("rank 1 is not here"));
  EXPECT_THAT(
      say("show " + merged + " --trace " + whole),
      HasSubstr("--trace: expected the folder of a run's parts, as run.json.parts, and found"));
  EXPECT_THAT(say("show " + folder.path()),
              HasSubstr("there is no part of a trace in this folder"));
}

}  // namespace
