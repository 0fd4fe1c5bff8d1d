// Tests `ripeline library megatron`: its order against Megatron-LM's own tables, written out here,
// costs by layers, proofs, and refused options.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/cli/program.h"

namespace {

class Megatron : public CliTest {
 protected:
  // Writes the program for these options to x.ripe.
  void make(const std::string& options) {
    const Outcome made = ripeline("library megatron " + options, "2>/dev/null");
    ASSERT_EQ(made.exit_code, 0) << options;
    ASSERT_TRUE(made.out.starts_with("# ripeline library megatron " + options + "\n")) << made.out;
    write("x.ripe", made.out);
  }
  // The order of a program as CSV.
  std::string order(const std::string& program, int microbatches) {
    const Outcome done = ripeline(fmt::format("export {} -m {} -o x.csv", program, microbatches));
    EXPECT_EQ(done.exit_code, 0) << done.out;
    return read("x.csv");
  }
  std::string verdict(const std::string& arguments = "") {
    const std::string out = ripeline("verify x.ripe " + arguments).out;
    return out.substr(0, out.find(" (Z3"));
  }
};

struct Size {
  int ranks, chunks, group;
};

// The order by get_schedule_table() and get_pp_rank_microbatches() of Megatron-LM's schedules.py.
std::string megatron_order(const Size& size, int microbatches) {
  std::vector<std::pair<int, int>> table;  // microbatch, chunk
  for (int begin = 0; begin < microbatches; begin += size.group) {
    for (int chunk = 0; chunk < size.chunks; ++chunk) {
      for (int m = begin; m < std::min(begin + size.group, microbatches); ++m) {
        table.emplace_back(m, chunk);
      }
    }
  }
  std::string text;
  const int total = microbatches * size.chunks;
  for (int rank = 0; rank < size.ranks; ++rank) {
    const int behind = size.ranks - rank - 1;
    const int warm =
        std::min(total, size.chunks == 1 ? behind : 2 * behind + (size.chunks - 1) * size.group);
    std::vector<std::string> row;
    const auto add = [&](char kind, int i) {
      const auto [m, chunk] = table[static_cast<std::size_t>(i)];
      const int at = kind == 'F' ? chunk : size.chunks - 1 - chunk;
      row.push_back(fmt::format("{}{}{}", at * size.ranks + rank, kind, m));
    };
    for (int i = 0; i < total + warm; ++i) {
      if (i < total) add('F', i);
      if (i >= warm) add('B', i - warm);
    }
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  return text;
}

TEST_F(Megatron, without_virtual_stages_has_the_order_of_1f1b) {
  make("--pipeline-model-parallel-size 4 --num-layers 24");
  EXPECT_EQ(verdict(), "x.ripe: proved, for any number of microbatches");
  for (const int m : {1, 3, 4, 9}) {
    const std::string found = order("x.ripe", m);
    EXPECT_EQ(found, megatron_order({4, 1, 4}, m)) << m;
    EXPECT_EQ(found, order("1f1b -D ranks=4", m)) << m;
  }
}

TEST_F(Megatron, with_virtual_stages_has_the_order_of_interleaved_1f1b) {
  for (const char* stages :
       {"--num-layers-per-virtual-pipeline-stage 2", "--num-virtual-stages-per-pipeline-rank 3"}) {
    make(std::string("--pipeline-model-parallel-size 4 --num-layers 24 ") + stages);
    EXPECT_EQ(verdict(), "x.ripe: proved, for any number of microbatches");
    for (const int m : {4, 8, 12}) {
      const std::string found = order("x.ripe", m);
      EXPECT_EQ(found, megatron_order({4, 3, 4}, m)) << m;
      EXPECT_EQ(found, order("interleaved_1f1b -D ranks=4 -D chunks=3", m)) << m;
    }
  }
}

TEST_F(Megatron, groups_of_another_size_are_proved_and_have_its_order) {
  for (const Size& size : {Size{2, 2, 3}, Size{3, 3, 5}, Size{4, 2, 7}, Size{4, 2, 9}}) {
    make(
        fmt::format("--pipeline-model-parallel-size {} --num-layers {} "
                    "--num-virtual-stages-per-pipeline-rank {} "
                    "--microbatch-group-size-per-virtual-pipeline-stage {}",
                    size.ranks, 2 * size.ranks * size.chunks, size.chunks, size.group));
    EXPECT_EQ(verdict(), "x.ripe: proved, for any number of microbatches");
    int accepted = 0;
    for (int m = size.group; m <= 3 * size.group; ++m) {
      const int rest = m % size.group;
      if (0 < rest && rest < size.ranks) continue;  // Megatron-LM refuses these
      ++accepted;
      EXPECT_EQ(order("x.ripe", m), megatron_order(size, m)) << size.group << ", " << m;
    }
    EXPECT_GE(accepted, 3);
  }
}

// Megatron-LM refuses counts for which its own order would hang; the order here is another one.
TEST_F(Megatron, a_rest_below_the_number_of_ranks_would_hang_as_a_group_of_its_own) {
  make("--pipeline-model-parallel-size 8 --num-layers 16 --num-virtual-stages-per-pipeline-rank 2");
  EXPECT_NE(order("x.ripe", 10), megatron_order({8, 2, 8}, 10));
  write("rest.csv", megatron_order({8, 2, 8}, 10));
  EXPECT_EQ(ripeline("check rest.csv --placement loop").exit_code, 1);
  write("full.csv", megatron_order({8, 2, 8}, 16));
  EXPECT_EQ(ripeline("simulate full.csv --placement loop").exit_code, 0);
}

TEST_F(Megatron, costs_are_in_proportion_to_the_layers) {
  const auto busy = [&](const std::string& options) {
    make(options);
    std::istringstream lines(ripeline("simulate x.ripe -m 8", "2>/dev/null").out);
    std::vector<int> found;
    bool table = false;
    for (std::string line; std::getline(lines, line);) {
      int rank = 0, tasks = 0, time = 0;
      if (table && std::istringstream(line) >> rank >> tasks >> time) found.push_back(time);
      table = table || line.find("busy") != std::string::npos;
    }
    return found;
  };
  // The step has 8 microbatches; per layer a forward takes 1 and a backward 2.
  EXPECT_EQ(busy("--pipeline-model-parallel-size 4 --num-layers 24"),
            (std::vector{144, 144, 144, 144}));
  EXPECT_EQ(busy("--pipeline-model-parallel-size 4 --num-layers 30 "
                 "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 5"),
            (std::vector{168, 216, 216, 120}));
  EXPECT_EQ(busy("--pipeline-model-parallel-size 4 --num-layers 28 "
                 "--num-virtual-stages-per-pipeline-rank 2 --decoder-first-pipeline-num-layers 4"),
            (std::vector{96, 192, 192, 192}));
  EXPECT_EQ(busy("--pipeline-model-parallel-size 2 --num-layers 27 "
                 "--decoder-first-pipeline-num-layers 13 --decoder-last-pipeline-num-layers 14"),
            (std::vector{312, 336}));
}

TEST_F(Megatron, has_the_bubble_of_interleaved_1f1b_whatever_the_size_of_groups_that_are_full) {
  for (const int group : {4, 5, 7}) {
    make(
        fmt::format("--pipeline-model-parallel-size 4 --num-layers 8 "
                    "--num-virtual-stages-per-pipeline-rank 2 "
                    "--microbatch-group-size-per-virtual-pipeline-stage {}",
                    group));
    const std::string found = ripeline(fmt::format("simulate x.ripe -m {}", 3 * group)).out;
    EXPECT_NE(found.find(fmt::format("wall (makespan) {} ", 3 * (2 * 3 * group + 3))),
              std::string::npos)
        << found;
    EXPECT_NE(found.find(fmt::format(" {}\n", 2 * 3 + group + 1)), std::string::npos) << found;
  }
}

TEST_F(Megatron, takes_the_name_of_configurations_and_writes_a_file) {
  const std::string even = "library megatron --pipeline-model-parallel-size 4 --num-layers 16 ";
  const Outcome printed = ripeline(even + "--num-virtual-stages-per-pipeline-rank 2");
  EXPECT_EQ(printed.exit_code, 0);
  const Outcome written =
      ripeline(even + "--virtual-pipeline-model-parallel-size 2 -o run.ripe", "2>&1");
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(read("run.ripe"), printed.out);
  EXPECT_EQ(ripeline("library bf -o bf.ripe").exit_code, 0);
  EXPECT_EQ(read("bf.ripe"), ripeline("library bf").out);
  const Outcome list = ripeline("library -o list.txt");
  EXPECT_EQ(list.exit_code, 2);
  EXPECT_NE(list.out.find("-o: expected the NAME of what to write"), std::string::npos) << list.out;
}

TEST_F(Megatron, refuses_what_has_no_such_program_in_its_names) {
  const std::string even = "--pipeline-model-parallel-size 8 --num-layers 96 ";
  const std::pair<std::string, const char*> cases[] = {
      {"--num-layers 96", "--pipeline-model-parallel-size is missing"},
      {"--pipeline-model-parallel-size 8", "--num-layers is missing"},
      {"--pipeline-model-parallel-size 8 --num-layers 90",
       "--num-layers 90: expected a multiple of --pipeline-model-parallel-size 8"},
      {even + "--num-layers-per-virtual-pipeline-stage 6 --num-virtual-stages-per-pipeline-rank 2",
       "expected one of them"},
      {even + "--num-layers-per-virtual-pipeline-stage 5", "expected a divisor of a rank's 12"},
      {even + "--num-layers-per-virtual-pipeline-stage 12", "expected 2 or more stages on a rank"},
      {even + "--num-virtual-stages-per-pipeline-rank 5", "expected a divisor of the layers"},
      {even + "--num-layers-per-virtual-pipeline-stage 6 --decoder-last-pipeline-num-layers 12",
       "expected --num-virtual-stages-per-pipeline-rank with"},
      {even + "--num-virtual-stages-per-pipeline-rank 2 "
              "--microbatch-group-size-per-virtual-pipeline-stage 7",
       "expected at least --pipeline-model-parallel-size 8"},
      {even + "--decoder-first-pipeline-num-layers 9",
       "87 layers are left by --decoder-first-pipeline-num-layers"},
      {even + "--decoder-first-pipeline-num-layers 97", "-1 layers are left"},
      {even + "--decoder-first-pipeline-num-layers 9 --decoder-last-pipeline-num-layers 9 "
              "--num-virtual-stages-per-pipeline-rank 3",
       "expected a divisor of the layers of each rank, here 13"},
      {"--pipeline-model-parallel-size 2 --num-layers 9 --decoder-first-pipeline-num-layers 4 "
       "--decoder-last-pipeline-num-layers 4",
       "1 layers are left"},
      {"--pipeline-model-parallel-size 1 --num-layers 9 --decoder-first-pipeline-num-layers 4",
       "expected 2 or more with --decoder-first-pipeline-num-layers"},
      {"--pipeline-model-parallel-size 1 --num-layers 8 --num-virtual-stages-per-pipeline-rank 2",
       "expected 2 or more with --num-virtual-stages-per-pipeline-rank"},
      {even + "--num-virtual-stages-per-pipeline-rank 0", "expected an integer from 1 to 1000000"}};
  for (const auto& [options, expected] : cases) {
    const Outcome refused = ripeline("library megatron " + options);
    EXPECT_EQ(refused.exit_code, 2) << options;
    EXPECT_NE(refused.out.find(expected), std::string::npos) << options << '\n' << refused.out;
  }
  EXPECT_EQ(ripeline("library 1f1b --num-layers 96").exit_code, 2);
  EXPECT_EQ(ripeline("library --num-layers 96").exit_code, 2);
}

}  // namespace
