#include "pytorch/csv/actions.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace ripeline::pytorch {
namespace {

struct CellCase {
  const char* text;
  const char* read_as;  // the result of to_string(); may be empty
  const char* says;     // part of the message; empty if there is no mistake
};

TEST(Actions, a_cell_is_an_action_from_its_first_to_its_last_character) {
  const std::vector<CellCase> cases = {
      {"0F0", "0F0", ""},
      {" 12I345\t", "12I345", ""},
      {"3W1", "3W1", ""},
      {"2B7", "2B7", ""},
      {"0SEND_F2", "0SEND_F2", ""},
      {"1RECV_F2", "1RECV_F2", ""},
      {"1SEND_B0", "1SEND_B0", ""},
      {"0RECV_B0", "0RECV_B0", ""},
      {"1UNSHARD", "1UNSHARD", ""},
      {"1RESHARD", "1RESHARD", ""},
      {"1REDUCE_GRAD", "1REDUCE_GRAD", ""},
      {"(4F1;3B0)OVERLAP_F_B", "(4F1;3B0)OVERLAP_F_B", ""},
      {"( 4F1 ; 3I0 )OVERLAP_F_B", "(4F1;3I0)OVERLAP_F_B", ""},
      {"0F0junk", "", "'junk' follows the action"},
      {"\"0F0;1F1\"", "",
       "';1F1' follows the action; PyTorch ignores it, since a comma ends a cell"},
      {"0F0 1", "", "follows the action"},
      {"x0F0", "", "expected <stage>"},
      {"F0", "", "expected <stage>"},
      {"0", "", "expected <stage>"},
      {"0X0", "", "expected <stage>"},
      {"-1F0", "", "expected <stage>"},
      {"+1F0", "", "expected <stage>"},
      {"0F", "", "F needs a microbatch"},
      {"0F-1", "", "F needs a microbatch"},
      {"0SEND_F", "", "SEND_F needs a microbatch"},
      {"0UNSHARD0", "", "UNSHARD takes no microbatch"},
      {"1000000F0", "", "the stage is above 999999"},
      {"99999999999999999999F0", "", "the stage is above 999999"},
      {"0F1000000", "", "the microbatch is above 999999"},
      {"0F99999999999999999999", "", "the microbatch is above 999999"},
      {"(0F0;0B0)", "", "expected (<action>;<action>)OVERLAP_F_B"},
      {"(0F0;0B0)OVERLAP_F_Bx", "", "expected (<action>;<action>)OVERLAP_F_B"},
      {"(0F0;0B0OVERLAP_F_B", "", "expected (<action>;<action>)OVERLAP_F_B"},
      {"(0F0;)OVERLAP_F_B", "", "no action"},
      {"()OVERLAP_F_B", "", "no action"},
      {"\"0F0\"", "0F0", ""},
      {"\" 0F0\n\"", "0F0", ""},
      {"\"(4F1;3B0)OVERLAP_F_B\"", "(4F1;3B0)OVERLAP_F_B", ""},
      {"\"0F0", "0F0", ""},  // accepted, as PyTorch does
      {"\"0F0\n1F0\n", "", "its quote is never closed, so that it takes the rest of the file"},
      {"\"(4F1,3B0)OVERLAP_F_B\"", "", "',3B0' follows the action"},
      {"\"0F0\"\"\"", "", "'\"' follows the action"},
      {"\"\"", "", ""},
  };
  for (const CellCase& c : cases) {
    const ReadActions read = read_actions(c.text);
    ASSERT_EQ(read.table.rows.size(), 1U) << c.text;
    ASSERT_EQ(read.table.rows[0].size(), 1U) << c.text;
    EXPECT_EQ(to_string(read.table.rows[0][0]), c.read_as) << c.text;
    const std::string said = read.mistakes.empty() ? "" : read.mistakes[0].message;
    EXPECT_EQ(said.empty(), std::string(c.says).empty()) << c.text << ": " << said;
    EXPECT_NE(said.find(c.says), std::string::npos) << c.text << ": " << said;
  }
}

TEST(Actions, rows_and_columns_are_counted_as_pythons_csv_reader_counts_them) {
  const ReadActions read = read_actions("0F0,,0B0\r\n\n1F0,bad\r2F0,\n");
  ASSERT_EQ(read.table.rows.size(), 4U);
  EXPECT_EQ(read.table.rows[0].size(), 3U);
  EXPECT_TRUE(read.table.rows[0][1].actions.empty());
  EXPECT_TRUE(read.table.rows[1].empty());
  EXPECT_EQ(read.table.rows[3].size(), 2U);
  ASSERT_EQ(read.mistakes.size(), 1U);
  EXPECT_EQ(read.mistakes[0].row, 3);
  EXPECT_EQ(read.mistakes[0].column, 2);
  EXPECT_EQ(read.mistakes[0].text, "bad");
}

TEST(Actions, older_names_are_told_once_and_taken_for_what_they_meant) {
  const ReadActions bw = read_actions("0F0,0BW0,0F1,0B1,0W1");
  ASSERT_EQ(bw.mistakes.size(), 1U);
  EXPECT_EQ(bw.mistakes[0].rule, "naming");
  EXPECT_EQ(write_actions(bw.table), "0F0,0B0,0F1,0I1,0W1\n");

  const ReadActions b_and_w = read_actions("0F0,0B0,0W0");
  ASSERT_EQ(b_and_w.mistakes.size(), 1U);
  EXPECT_EQ(b_and_w.mistakes[0].rule, "naming");
  EXPECT_EQ(write_actions(b_and_w.table), "0F0,0I0,0W0\n");

  // Here B is a whole backward, although another microbatch has I and W.
  EXPECT_TRUE(read_actions("0F0,0B0,0F1,0I1,0W1").mistakes.empty());
}

TEST(Actions, what_is_written_is_read_again) {
  const std::string text = "0F0,,(0F1;0B0)OVERLAP_F_B\n1UNSHARD,1SEND_B3\n";
  const ReadActions read = read_actions(text);
  EXPECT_TRUE(read.mistakes.empty());
  EXPECT_EQ(write_actions(read.table), text);
}

TEST(Actions, mistakes_are_all_counted_and_the_first_are_kept) {
  std::string text;
  for (std::size_t i = 0; i < kMostMistakes + 5; ++i) text += "x,";
  const ReadActions read = read_actions(text);
  EXPECT_EQ(read.mistakes.size(), kMostMistakes);
  EXPECT_EQ(read.mistake_count, kMostMistakes + 5);
}

TEST(Actions, any_bytes_are_read) {
  std::mt19937 random(7);
  using namespace std::string_literals;
  const std::string alphabet = "0123456789FBIWSEND_RECV(;)OVERLAP,\n\r\"\0\xff "s;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    const ReadActions read = read_actions(text);
    EXPECT_LE(read.mistakes.size(), read.mistake_count);
    // The actions that were understood can be written and read again.
    const ReadActions again = read_actions(write_actions(read.table));
    for (const CellMistake& mistake : again.mistakes) EXPECT_EQ(mistake.rule, "naming") << text;
  }
}

// An empty line is a rank without cells; a line of blanks has one idle cell.
TEST(Actions, a_line_of_blanks_is_an_idle_cell) {
  const ReadActions read = read_actions(" \n0F0\n\n");
  EXPECT_TRUE(read.mistakes.empty());
  ASSERT_EQ(read.table.rows.size(), 3U);
  ASSERT_EQ(read.table.rows[0].size(), 1U);
  EXPECT_TRUE(read.table.rows[0][0].actions.empty());
  EXPECT_TRUE(read.table.rows[2].empty());
  EXPECT_EQ(write_actions(read.table), "\"\"\n0F0\n\n");
  EXPECT_EQ(read_actions(write_actions(read.table)).table, read.table);
}

TEST(Actions, another_separator_than_a_comma_is_named_and_what_it_separates_is_read) {
  const ReadActions semicolons = read_actions("0F0;;\"0B0\"\n1F0;(1F1;1B0)OVERLAP_F_B\n");
  ASSERT_EQ(semicolons.mistakes.size(), 1U);
  EXPECT_EQ(semicolons.mistakes[0].rule, "file");
  EXPECT_TRUE(semicolons.mistakes[0].message.starts_with(
      "cells are separated by semicolons, expected commas"));
  EXPECT_EQ(write_actions(semicolons.table), "0F0,,0B0\n1F0,(1F1;1B0)OVERLAP_F_B\n");
  const ReadActions tabs = read_actions("0F0\t0F1\n\t1F0\n");
  ASSERT_EQ(tabs.mistakes.size(), 1U);
  EXPECT_TRUE(tabs.mistakes[0].message.starts_with("cells are separated by tabs, expected commas"));
  EXPECT_EQ(write_actions(tabs.table), "0F0,0F1\n,1F0\n");
  // Tabs around cells count as blanks, and a pair is one cell.
  EXPECT_TRUE(read_actions("\t0F0\t\n1F0\n").mistakes.empty());
  EXPECT_TRUE(read_actions("(0F1;0B0)OVERLAP_F_B\n").mistakes.empty());
}

TEST(Actions, a_cell_has_no_more_characters_than_pythons_csv_module_takes) {
  const std::string blanks(kMostCellCharacters - 3, ' ');
  EXPECT_TRUE(read_actions("0F0" + blanks + ",0F1\n").mistakes.empty());
  const ReadActions read = read_actions("0F1,0F0 " + blanks + "\n");
  ASSERT_EQ(read.mistakes.size(), 1U);
  EXPECT_EQ(read.mistakes[0].column, 2);
  EXPECT_EQ(read.mistakes[0].message,
            "more than 131072 characters, which Python's csv module refuses");
}

TEST(Actions, a_byte_order_mark_is_no_part_of_a_cell) {
  const ReadActions read = read_actions("\xEF\xBB\xBF\"0F0\",0B0\n");
  ASSERT_EQ(read.mistakes.size(), 1U);
  EXPECT_EQ(read.mistakes[0].rule, "file");
  EXPECT_EQ(write_actions(read.table), "0F0,0B0\n");
}

}  // namespace
}  // namespace ripeline::pytorch
