// Tests what tests/specimens/check does not: options, repairs, limits, and large files.
#include "pytorch/check.h"
#include "pytorch/fix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ripeline::pytorch {
namespace {

using verify::Outcome;

CheckReport report_of(const std::string& text, const CheckOptions& options = {}) {
  const auto report = check(read_actions(text), options);
  EXPECT_TRUE(report.ok());
  return report.ok() ? report.value() : CheckReport{};
}

// 1F1B with `ranks` and `microbatches`, written by hand.
std::string one_f_one_b(int ranks, int microbatches) {
  std::string text;
  for (int r = 0; r < ranks; ++r) {
    const int warm = std::min(ranks - 1 - r, microbatches);
    std::vector<std::string> row;
    for (int m = 0; m < warm; ++m) row.push_back(fmt::format("{}F{}", r, m));
    for (int m = warm; m < microbatches; ++m) {
      row.push_back(fmt::format("{}F{}", r, m));
      row.push_back(fmt::format("{}B{}", r, m - warm));
    }
    for (int m = microbatches - warm; m < microbatches; ++m) {
      row.push_back(fmt::format("{}B{}", r, m));
    }
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

TEST(Check, cells_in_quotes_are_taken) {
  const CheckReport report =
      report_of("\"0F0\",\"0F1\",\"\",\"0B0\",\"0B1\"\r\n1F0,\"1B0\",\"(1F1;1B0)OVERLAP\",1B1\r\n");
  ASSERT_EQ(report.findings.size(), 2U);  // the other finding is that 1F1 is missing
  EXPECT_EQ(report.findings[0].column, 3);
  EXPECT_EQ(
      report_of("\"0F0\",\"0F1\",\"\",\"0B0\",\"0B1\"\r\n1F0,\"1F1\",\"1B0\",1B1\r\n").verdict,
      Outcome::proved);
}

TEST(Check, another_separator_is_one_finding) {
  const CheckReport report = report_of("0F0;0B0\n1F0;1B0\n");
  EXPECT_EQ(report.verdict, Outcome::refuted);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].rule, "file");
  EXPECT_EQ(report.rank_peak, (std::vector<std::int64_t>{1, 1}));
}

TEST(Check, options_that_fit_no_table_are_bad_input) {
  const ReadActions read = read_actions(one_f_one_b(2, 2));
  for (const CheckOptions& options :
       {CheckOptions{.ranks = 0}, CheckOptions{.ranks = kMostRanks + 1}, CheckOptions{.stages = 3},
        CheckOptions{.stages = 0}, CheckOptions{.microbatches = 0},
        CheckOptions{.stages = 4, .placement = Placement::chain}}) {
    const auto report = check(read, options);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.errors().front().id, "check-options");
  }
}

TEST(Check, peaks_are_those_of_1f1b) {
  const CheckReport report = report_of(one_f_one_b(4, 8));
  EXPECT_EQ(report.verdict, Outcome::proved);
  EXPECT_EQ(report.rank_peak, (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(report_of(one_f_one_b(4, 8), {.rank_memory = spec::Rational{4, 1}}).verdict,
            Outcome::proved);
  const CheckReport above = report_of(one_f_one_b(4, 8), {.rank_memory = spec::Rational{3, 1}});
  ASSERT_EQ(above.findings.size(), 1U);
  EXPECT_EQ(above.findings[0].rule, "memory");
  EXPECT_EQ(above.findings[0].task, "0F3");
  EXPECT_EQ(above.findings[0].column, 4);
}

TEST(Check, a_large_table_is_judged_in_both_forms) {
  const std::string text = one_f_one_b(64, 128);
  EXPECT_EQ(report_of(text).verdict, Outcome::proved);
  const auto map = place_stages(Placement::chain, 64, 64);
  const ActionTable comms = as_loaded(read_actions(text).table, *map, 128).table;
  const CheckReport report =
      report_of(write_actions(comms), {.kernels = wire::WireKernels::serial});
  EXPECT_EQ(report.verdict, Outcome::proved);
  EXPECT_EQ(report.shape.form, ActionForm::compute_comms);
}

TEST(Check, a_pytorch_from_before_reduce_grad_gets_none) {
  const std::string text = "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n";
  const CheckOptions options{.reduce = false};
  const auto repaired = repair(read_actions(text), report_of(text, options), options);
  ASSERT_TRUE(repaired.ok());
  EXPECT_EQ(write_actions(repaired.value().table),
            "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
}

TEST(Check, findings_of_nonsense_are_limited_and_all_counted) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "nonsense,";
  const CheckReport report = report_of(text + "\n999999F999999\n");
  EXPECT_EQ(report.verdict, Outcome::refuted);
  EXPECT_EQ(report.findings.size(), kMostFindings);
  EXPECT_GT(report.finding_count, 5000U);
}

// Edits a right schedule at random. check() always ends, and accepts each result of repair().
TEST(Check, a_repair_passes_or_there_is_none) {
  std::mt19937 random(11);
  const auto map = place_stages(Placement::chain, 3, 3);
  int repaired = 0;
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const bool comms = i % 2 == 0;
    ActionTable table = read_actions(one_f_one_b(3, 4)).table;
    if (comms) {
      table = as_loaded(table, *map, 4, {.shards = i % 4 == 0}).table;
    }
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      auto& row = table.rows[random() % 3];
      if (row.empty()) continue;
      const std::size_t a = random() % row.size();
      const std::size_t b = random() % row.size();
      switch (random() % 4) {
        case 0:
          std::swap(row[a], row[b]);
          break;
        case 1:
          row.insert(row.begin() + static_cast<std::ptrdiff_t>(a), row[b]);
          break;
        case 2:
          row.erase(row.begin() + static_cast<std::ptrdiff_t>(a));
          break;
        default:
          std::swap(table.rows[random() % 3], table.rows[random() % 3]);
          break;
      }
    }
    const ReadActions read = read_actions(write_actions(table));
    const CheckOptions options{
        .ranks = 3,
        .stages = 3,
        .microbatches = 4,
        .placement = Placement::chain,
        .form = comms ? ActionForm::compute_comms : ActionForm::compute_only};
    const auto report = check(read, options);
    ASSERT_TRUE(report.ok());
    if (report.value().verdict == Outcome::proved) continue;
    const auto repaired_table = repair(read, report.value(), options);
    if (!repaired_table.ok()) {
      EXPECT_FALSE(repaired_table.errors().front().message.empty());
      ++refused;
      continue;
    }
    ++repaired;
    EXPECT_FALSE(repaired_table.value().changes.empty());
    const auto again = check(read_actions(write_actions(repaired_table.value().table)), options);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value().verdict, Outcome::proved) << write_actions(table);
    EXPECT_EQ(again.value().rank_peak, repaired_table.value().rank_peak);
  }
  EXPECT_GT(repaired, 200);
  EXPECT_GT(refused, 20);
}

struct RepairCase {
  const char* before;
  const char* after;  // empty if there is no repair
  const char* says;   // part of a change, or of the reason why no repair exists
};

TEST(Check, repairs_keep_what_they_can) {
  const std::vector<RepairCase> cases = {
      {"\"0F0\",\"0F0\",\"0B0\"\n1F0,\"1B0\"\n", "0F0,0B0\n1F0,1B0\n", "a second 0F0"},
      {"\xEF\xBB\xBF,0F0,0B0\n1F0,1B0\n", "0F0,0B0\n1F0,1B0\n", "byte order mark is left out"},
      {"0F0;0B0\n1F0;1B0\n", "0F0,0B0\n1F0,1B0\n", "cells are separated by commas"},
      {"0F0,0BW0\n1F0,1BW0\n", "0F0,0B0\n1F0,1B0\n", "older naming"},
      {"0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n",
       "1F1 moved from position 2 to 3; 1 cell moved, the fewest that do"},
      // Moving five cells to earlier positions would also suffice, but with a higher peak.
      {"0F0,0F1,0B3,0F2,0F3,0B0,0B1,0B2\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n",
       "0F0,0F1,0F2,0F3,0B3,0B0,0B1,0B2\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n",
       "0B3 moved from position 3 to 5; 1 cell moved"},
      {"1F0,1B0\n0F0,0B0\n", "0F0,0B0\n1F0,1B0\n", "row 1 moved to row 2"},
      {"0F0,0F0,0B0\n1F0,1B0\n", "0F0,0B0\n1F0,1B0\n", "a second 0F0"},
      {"0F5,0F7,0B5,0B7\n1F5,1B5,1F7,1B7\n", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "renumbered"},
      {"0F0,0SEND_F0,0B0\n1F0,1B0\n",
       "0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n",
       "derived again"},
      {"0F0,0B0\n1F0\n", "", "1B0"},
      {"0F0,0B0x\n1F0,1B0\n", "", "'0B0x'"},
      {"0F0,0F1,0B0,0I0,0W0\n1F0,1B0,1F1,1B1\n", "", "what would be left"},
  };
  for (const RepairCase& c : cases) {
    const ReadActions read = read_actions(c.before);
    const CheckReport report = report_of(c.before);
    EXPECT_EQ(report.verdict, Outcome::refuted) << c.before;
    const auto done = repair(read, report, {});
    if (done.ok()) {
      EXPECT_EQ(done.value().peak_before.size(), done.value().rank_peak.size());
    }
    EXPECT_EQ(done.ok() ? write_actions(done.value().table) : "", c.after) << c.before;
    const std::string said = done.ok() ? fmt::format("{}", fmt::join(done.value().changes, "; "))
                                       : done.errors().front().message;
    EXPECT_NE(said.find(c.says), std::string::npos) << c.before << said;
  }
}

}  // namespace
}  // namespace ripeline::pytorch
