// Tests a PyTorch schedule as a program, and the positions of its cells in the file.
#include "pytorch/program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "pytorch/csv/place.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::pytorch {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

spec::Result<spec::Program> compiled(const ScheduleProgram& made, const std::string& name) {
  spec::ElaborateOptions options;
  options.read_file = [&](const std::string&) { return spec::Result<std::string>(made.order); };
  return spec::compile({.name = name, .text = made.text}, options);
}

// Schedules that check() proves are also proved as programs: in a program each message has its own
// slot, so a message waits for less than a send in check(), which waits for its receive.
TEST(ScheduleProgram, of_a_right_schedule_is_proved) {
  int judged = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(RIPELINE_SOURCE_DIR) / "tests" / "specimens" / "check")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("right_") || entry.path().extension() != ".csv") continue;
    const std::string text = read(entry.path());
    const auto made = program_of({.name = name, .text = text}, {});
    ASSERT_TRUE(made.ok()) << name << ": " << made.errors().front().message;
    const auto program = compiled(made.value(), name);
    ASSERT_TRUE(program.ok()) << name << ": " << program.errors().front().message;
    EXPECT_EQ(verify::verify(program.value()).outcome, verify::Outcome::proved) << name;
    const auto checked = check(read_actions(text));
    ASSERT_TRUE(checked.ok());
    EXPECT_EQ(program.value().ranks, checked.value().shape.map.ranks) << name;
    EXPECT_EQ(program.value().microbatches.min, checked.value().shape.microbatches) << name;
    ++judged;
  }
  EXPECT_GE(judged, 15);
}

TEST(ScheduleProgram, lacks_what_the_file_lacks_and_says_so) {
  const auto made = program_of({.name = "lacks.csv", .text = "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n"}, {});
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().notes.size(), 1U);
  EXPECT_TRUE(made.value().notes.front().starts_with("0B1 is missing: "));
  const auto program = compiled(made.value(), "lacks.csv");
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(verify::verify(program.value()).outcome, verify::Outcome::refuted);
}

TEST(ScheduleProgram, keeps_a_backward_beside_split_ones_whole) {
  const auto made = program_of(
      {.name = "mixed.csv", .text = "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,(1F1;1B1)OVERLAP_F_B\n"}, {});
  ASSERT_FALSE(made.ok());  // 1B1 needs 1F1
  EXPECT_EQ(made.errors().front().id, "csv-overlap");
  const std::string text = "0F0,0F1,0I0,0W0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n";
  const auto apart = program_of({.name = "mixed.csv", .text = text}, {});
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(apart.value().order, text);
  EXPECT_TRUE(apart.value().notes.empty());
  const auto program = compiled(apart.value(), "mixed.csv");
  ASSERT_TRUE(program.ok()) << program.errors().front().message;
  EXPECT_EQ(verify::verify(program.value()).outcome, verify::Outcome::proved);
}

TEST(CellBytes, are_those_of_the_cell_without_its_blanks) {
  struct Case {
    std::string_view bytes;
    int row;
    int column;
    std::string_view cell;
  };
  for (const Case& c :
       {Case{"0F0,0F1\n1F0,1F1\n", 1, 1, "0F0"}, Case{"0F0,0F1\n1F0,1F1\n", 2, 2, "1F1"},
        Case{"0F0, 0F1 \r\n1F0\t,1F1\r\n", 1, 2, "0F1"}, Case{"0F0\r\n1F0\t,1F1\r\n", 2, 1, "1F0"},
        Case{"0F0\r1F0,1F1", 2, 2, "1F1"}, Case{"0F0,,0F1\n\n1F0", 1, 3, "0F1"},
        Case{"0F0,,0F1\n\n1F0", 3, 1, "1F0"}, Case{"0F0,,0F1\n", 1, 2, ""},
        Case{"0F0,0F1\n1F0\n", 1, 0, "0F0,0F1"}, Case{"0F0\n1F0\n", 2, 0, "1F0"},
        Case{"\"0F0\",\"x\ny\"\n\"1F0\"\n", 1, 2, "\"x\ny\""},
        Case{"\"0F0\",\"x\ny\"\n \"1F0\", 1F1", 2, 2, "1F1"},
        Case{"0F0;0F1\n1F0;(1F1;1B0)OVERLAP_F_B; x", 2, 3, "x"},
        Case{"\xEF\xBB\xBF x,0F1\n", 1, 1, "x"}, Case{"0F0\n", 1, 7, ""}, Case{"0F0\n", 9, 2, ""},
        Case{"", 1, 1, ""}}) {
    const CellBytes place = bytes_of_cell(c.bytes, c.row, c.column);
    ASSERT_LE(place.begin, place.end);
    ASSERT_LE(place.end, c.bytes.size());
    EXPECT_EQ(c.bytes.substr(place.begin, place.end - place.begin), c.cell)
        << c.bytes << ' ' << c.row << ' ' << c.column;
  }
}

}  // namespace
}  // namespace ripeline::pytorch
