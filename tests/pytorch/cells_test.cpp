// Tests that a CSV file is split into cells as by Python's csv module, which PyTorch uses.
#include "pytorch/csv/cells.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pytorch/csv/actions.h"
#include "tests/support/temporary_folder.h"

namespace ripeline::pytorch {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::vector<std::vector<std::string>> rows_of(std::string_view bytes) {
  std::vector<std::vector<std::string>> rows;
  CsvCells cells(bytes);
  while (cells.next_row()) {
    rows.emplace_back();
    while (const auto cell = cells.next()) rows.back().emplace_back(cell->text);
  }
  return rows;
}

TEST(CsvCells, are_those_of_pythons_csv_module) {
  using Rows = std::vector<std::vector<std::string>>;
  const std::vector<std::pair<std::string, Rows>> cases = {
      {"", {}},
      {"a,b\nc", {{"a", "b"}, {"c"}}},
      {"a,\n", {{"a", ""}}},
      {"a,", {{"a", ""}}},
      {"\n\r\n\ra", {{}, {}, {}, {"a"}}},
      {"\"a\",\"b,c\"\n", {{"a", "b,c"}}},
      {"\"a\"\"b\"", {{"a\"b"}}},
      {"\"a\nb\"c,d", {{"a\nbc", "d"}}},
      {"a\"b\"", {{"a\"b\""}}},
      {" \"a,b\"", {{" \"a", "b\""}}},
      {"\"a\" \"b\"\n", {{"a \"b\""}}},
      {"\"\"\n", {{""}}},
      {"a,\"b\nc,d\n", {{"a", "b\nc,d\n"}}},
      {"\xEF\xBB\xBF\"a\"", {{"a"}}},
      {"a;b\n(c;d)e;f", {{"a", "b"}, {"(c;d)e", "f"}}},
      {"\"a\";b\n", {{"a", "b"}}},
      {"\ta\tb\n", {{"", "a", "b"}}},
      {"\ta\t\nb\t\n", {{"\ta\t"}, {"b\t"}}},
      {"(a;b)\n", {{"(a;b)"}}},
  };
  for (const auto& [bytes, rows] : cases) EXPECT_EQ(rows_of(bytes), rows) << bytes;
}

TEST(CsvCells, know_the_blanks_that_python_strips) {
  EXPECT_EQ(without_blanks(" \t\n\v\f\r\x1c\x1d\x1e\x1f\xC2\x85\xC2\xA0"s + "a b" +
                           "\xE3\x80\x80\xE2\x80\x89 "),
            "a b");
  EXPECT_EQ(without_blanks(" \xE2\x80\x8B"), "\xE2\x80\x8B");  // a zero-width space is not a blank
  EXPECT_EQ(without_blanks("\xA0"), "\xA0");                   // not valid UTF-8
}

// A random text made of parts of schedules, spreadsheets and mistakes.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kParts = {"0F0",
                                                  "12B345",
                                                  "3UNSHARD",
                                                  "1SEND_F2",
                                                  "(0F1;1B0)OVERLAP_F_B",
                                                  "( 0F1 ;1B0 )OVERLAP_F_B",
                                                  ",",
                                                  ",",
                                                  ",",
                                                  "\"",
                                                  "\"",
                                                  "\"\"",
                                                  "\n",
                                                  "\r",
                                                  "\r\n",
                                                  " ",
                                                  "\t",
                                                  "\xC2\xA0",
                                                  "\x1f",
                                                  "x",
                                                  "\xE3\x80\x80",
                                                  ";",
                                                  "\"0F0\"",
                                                  "\"0F0\",\"1B0\"\n",
                                                  "\v",
                                                  ",0F1",
                                                  "()",
                                                  "0",
                                                  "F"};
  std::string text = "0F0,";  // begins with a comma, since commas separate cells
  for (auto parts = random() % 14; parts > 0; --parts) text += kParts[random() % kParts.size()];
  return text;
}

// The cells in the form that tests/pytorch/csv_reader.py prints.
std::string printed(std::string_view bytes) {
  std::string text;
  const ReadActions read = read_actions(bytes);
  std::size_t next = 0;
  for (const auto& row : read.table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool wrong = next < read.mistakes.size() && read.mistakes[next].row == row[i].row &&
                         read.mistakes[next].column == row[i].column;
      if (wrong) ++next;
      text += (i > 0 ? "," : "") + (wrong ? "!" : to_string(row[i]));
    }
    text += '|';
  }
  EXPECT_EQ(next, read.mistakes.size());
  return text;
}

TEST(CsvCells, of_random_texts_are_read_as_pytorch_reads_them) {
  std::mt19937 random(36);
  constexpr int kTexts = 6000;
  const testing_support::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  std::vector<std::string> texts;
  std::ofstream list(folder / "texts");
  for (int i = 0; i < kTexts; ++i) {
    texts.push_back(random_text(random));
    for (const char c : texts.back()) list << fmt::format("{:02x}", static_cast<unsigned char>(c));
    list << '\n';
  }
  list.close();
  ASSERT_EQ(std::system(fmt::format("timeout 60 /usr/bin/python3 '{0}/tests/pytorch/csv_reader.py' "
                                    "'{1}/texts' > '{1}/rows'",
                                    RIPELINE_SOURCE_DIR, folder.string())
                            .c_str()),
            0);
  std::ifstream rows(folder / "rows");
  std::string line;
  int right = 0;
  for (const std::string& text : texts) {
    ASSERT_TRUE(std::getline(rows, line));
    EXPECT_EQ(printed(text), line) << text;
    if (line.find('!') == line.npos) ++right;
  }
  EXPECT_GT(right, kTexts / 20);
  EXPECT_LT(right, kTexts * 9 / 10);
}

}  // namespace
}  // namespace ripeline::pytorch
