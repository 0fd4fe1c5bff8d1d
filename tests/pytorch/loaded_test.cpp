// Tests tables as PyTorch loads them: compares them with a few loaded tables that are recorded in
// tests/pytorch/loaded/ and, if PyTorch can be imported (docs/testing.md), with what PyTorch loads
// for random tables. If RIPELINE_ACCEPT=1, the latter test rewrites the recorded tables.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pytorch/check.h"
#include "pytorch/lower.h"
#include "pytorch/one_order.h"
#include "pytorch/wired.h"
#include "tests/support/temporary_folder.h"

namespace ripeline::pytorch {
namespace {

using verify::Outcome;
using wire::WireKernels;
using wire::WireLayout;
using wire::WireVerdict;

namespace fs = std::filesystem;

// A table and the parameters of its launch.
struct Table {
  Placement placement = Placement::chain;
  int ranks = 1;
  int chunks = 1;  // stages per rank
  int microbatches = 1;
  ActionForm form = ActionForm::compute_only;
  ActionTable cells{};

  [[nodiscard]] int stages() const { return ranks * chunks; }
  [[nodiscard]] StageMap map() const { return *place_stages(placement, ranks, stages()); }
  // The table as the text of a file.
  [[nodiscard]] std::string text() const { return write_actions(cells); }
  [[nodiscard]] CheckReport checked() const {
    const auto report = check(read_actions(text()), {.ranks = ranks,
                                                     .stages = stages(),
                                                     .microbatches = microbatches,
                                                     .placement = placement,
                                                     .form = form});
    EXPECT_TRUE(report.ok());
    return report.ok() ? report.value() : CheckReport{};
  }
};

// --- recorded tables ---

struct Recorded {
  const char* name;
  Placement placement;
  int ranks;
  int chunks;
  int microbatches;
};
constexpr Recorded kRecorded[] = {
    {"v", Placement::v, 2, 2, 3},        // without the other additions, receives are elsewhere
    {"overlap", Placement::v, 2, 2, 4},  // PyTorch's DualPipeV
    {"loop", Placement::loop, 2, 4, 2},  // a rank has weights for fewer stages than it runs
};

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path recorded_file(const Recorded& recorded, const std::string& ending) {
  return fs::path(RIPELINE_SOURCE_DIR) / "tests/pytorch/loaded" / (recorded.name + ending);
}

Table table_of(const Recorded& recorded) {
  return {.placement = recorded.placement,
          .ranks = recorded.ranks,
          .chunks = recorded.chunks,
          .microbatches = recorded.microbatches,
          .cells = read_actions(file_text(recorded_file(recorded, ".csv"))).table};
}

TEST(LoadedTable, is_the_one_that_pytorch_makes) {
  for (const Recorded& recorded : kRecorded) {
    const Table table = table_of(recorded);
    const auto loaded = as_loaded(table.cells, table.map(), table.microbatches);
    EXPECT_TRUE(loaded.stuck.empty()) << recorded.name;
    EXPECT_EQ(write_actions(loaded.table), file_text(recorded_file(recorded, ".loaded.csv")))
        << recorded.name;
    EXPECT_EQ(table.checked().verdict, Outcome::proved) << recorded.name;
  }
}

// The table without its additions: only computations and messages.
ActionTable without_additions(ActionTable table) {
  for (auto& row : table.rows) {
    std::erase_if(
        row, [](const ActionCell& cell) { return !has_microbatch(cell.actions.front().kind); });
  }
  return table;
}

TEST(LoadedTable, has_its_receives_where_unshard_and_reduce_grad_put_them) {
  const Table table = table_of(kRecorded[0]);
  const auto bare =
      as_loaded(table.cells, table.map(), table.microbatches, {.shards = false, .reduce = false});
  const auto all = as_loaded(table.cells, table.map(), table.microbatches);
  EXPECT_NE(write_actions(bare.table), write_actions(without_additions(all.table)));
}

TEST(LoadedTable, is_made_in_time_that_grows_with_its_cells) {
  constexpr int kMicrobatches = 200'000;
  ActionTable table;
  table.rows.resize(1);
  for (int m = 0; m < kMicrobatches; ++m) {
    for (const int stage : {0, 1}) {
      table.rows[0].push_back({.actions = {{ActionKind::forward, stage, m}}});
    }
  }
  const auto loaded =
      as_loaded(table, *place_stages(Placement::loop, 1, 2), kMicrobatches, {.reduce = true});
  EXPECT_TRUE(loaded.stuck.empty());
  EXPECT_EQ(loaded.table.rows[0].size(), table.rows[0].size() + 4);
}

// --- random tables ---

// The value of the environment variable `name` (RIPELINE_SEED or RIPELINE_CASES), or `otherwise`.
unsigned number_given(const char* name, unsigned otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

class RandomTables {
 public:
  // A random table. Half are legal; the others have exchanged cells, so they may deadlock.
  Table compute_only() {
    Table table;
    table.placement = std::vector{Placement::chain, Placement::loop, Placement::v}[below(3)];
    table.ranks = 1 + below(4);
    table.chunks = table.placement == Placement::chain ? 1
                   : table.placement == Placement::v   ? 2
                                                       : 1 + below(6);
    table.microbatches = 1 + below(5);
    fill(table);
    if (below(3) == 0) overlap(table);
    if (below(2) == 0) exchange(table, 1 + below(4));
    if (below(3) == 0) add_blanks(table);
    return table;
  }

  // A legal table in the form that it has after loading, but with some cells exchanged.
  Table compute_comms() {
    Table table = compute_only();
    while (table.checked().verdict != Outcome::proved) table = compute_only();
    table.cells = as_loaded(table.cells, table.map(), table.microbatches).table;
    table.form = ActionForm::compute_comms;
    exchange(table, below(3));
    return table;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // Adds tasks one by one, each after the tasks that it needs; some tables prefer certain ranks.
  void fill(Table& table) {
    const StageMap map = table.map();
    table.cells.rows.resize(static_cast<std::size_t>(table.ranks));
    const int split = below(3);  // no backwards are split, all are, or some are
    std::vector<Action> left;
    for (int s = 0; s < table.stages(); ++s) {
      for (int m = 0; m < table.microbatches; ++m) {
        left.push_back({ActionKind::forward, s, m});
        if (split == 0 || (split == 2 && below(2) == 0)) {
          left.push_back({ActionKind::backward, s, m});
        } else {
          left.push_back({ActionKind::backward_input, s, m});
          left.push_back({ActionKind::backward_weight, s, m});
        }
      }
    }
    std::vector<Action> done;
    const bool shuffled = below(2) == 0;
    while (!left.empty()) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < left.size(); ++i) {
        const auto needs = needs_of(left[i], table.stages());
        if (std::all_of(needs.begin(), needs.end(), [&done](const Action& need) {
              return std::find(done.begin(), done.end(), need) != done.end();
            })) {
          ready.push_back(i);
        }
      }
      const std::size_t i =
          ready[shuffled ? static_cast<std::size_t>(below(static_cast<int>(ready.size())))
                         : ready.size() - 1];
      table.cells.rows[static_cast<std::size_t>(map.rank(left[i].stage))].push_back(
          {.actions = {left[i]}});
      done.push_back(result_of(left[i]));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // Pairs forwards with adjacent backwards of another microbatch.
  void overlap(Table& table) {
    for (auto& row : table.cells.rows) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        const Action first = row[i].actions.front();
        const Action second = row[i + 1].actions.front();
        if (first.kind != ActionKind::forward || first.microbatch == second.microbatch ||
            (second.kind != ActionKind::backward && second.kind != ActionKind::backward_input) ||
            below(2) == 0) {
          continue;
        }
        row[i] = {.actions = {first, second}, .overlap = true};
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }

  void exchange(Table& table, int times) {
    for (; times > 0; --times) {
      auto& row = table.cells.rows[static_cast<std::size_t>(below(table.ranks))];
      const int size = static_cast<int>(row.size());
      const int from = below(size);
      const int to = std::min(from + 1 + below(3), size - 1);
      std::swap(row[static_cast<std::size_t>(from)], row[static_cast<std::size_t>(to)]);
    }
  }

  void add_blanks(Table& table) {
    for (auto& row : table.cells.rows) {
      for (int n = below(4); n > 0; --n) {
        row.insert(row.begin() + below(static_cast<int>(row.size()) + 1), ActionCell{});
      }
    }
  }

  std::mt19937 random_{number_given("RIPELINE_SEED", 11)};
};

// The verdicts on the wire for three layouts and three kernel levels.
std::vector<WireVerdict::Kind> wire_verdicts(const ActionTable& table, const CheckShape& shape) {
  const WireOfCells wire = wired(table, shape);
  std::vector<WireVerdict::Kind> kinds;
  for (const WireLayout layout : {WireLayout::group, WireLayout::pair, WireLayout::edge}) {
    for (const WireKernels kernels :
         {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial}) {
      kinds.push_back(judge_wire(wire.program, {.layout = layout, .kernels = kernels}).kind);
    }
  }
  return kinds;
}
const std::vector<WireVerdict::Kind> kSafe(9, WireVerdict::Kind::safe);

// If PyTorch can load a table, some order of all ranks' actions has each send next to its receive;
// then no communicators or kernels cause a deadlock. A loaded table must still have such an order.
TEST(LoadedTable, is_safe_on_any_communicators_and_kernels) {
  RandomTables random;
  int loaded = 0;
  for (int i = 0; i < 300; ++i) {
    const Table table = random.compute_only();
    const auto all = as_loaded(table.cells, table.map(), table.microbatches);
    EXPECT_EQ(all.stuck.empty(), stuck_ranks(table.cells, table.map()).empty()) << table.text();
    if (!all.stuck.empty()) continue;
    ++loaded;
    EXPECT_TRUE(has_one_order(all.table, table.map())) << table.text();
    EXPECT_EQ(wire_verdicts(all.table, table.checked().shape), kSafe) << table.text();
  }
  EXPECT_GT(loaded, 150);
}

TEST(LoadedTable, with_one_order_of_its_own_messages_is_safe_on_any_communicators_and_kernels) {
  RandomTables random;
  int ordered = 0;
  int others = 0;
  for (int i = 0; i < 600; ++i) {
    const Table table = random.compute_comms();
    const CheckReport report = table.checked();
    const bool judged = std::all_of(
        report.findings.begin(), report.findings.end(),
        [](const CheckFinding& f) { return f.rule == "deadlock" || f.rule == "mismatch"; });
    if (!judged) continue;
    if (!has_one_order(table.cells, table.map())) {
      ++others;
      continue;
    }
    ++ordered;
    EXPECT_EQ(wire_verdicts(table.cells, report.shape), kSafe) << table.text();
  }
  EXPECT_GT(ordered, 50);
  EXPECT_GT(others, 10);
}

// Sorts each run of RESHARDs by stage, because PyTorch writes them in the arbitrary order of a set.
// Receives may be between the RESHARDs of a run, but nothing else.
ActionTable in_one_order(ActionTable table) {
  for (auto& row : table.rows) {
    std::vector<std::size_t> places;
    const auto sort = [&] {
      std::vector<int> stages;
      for (const std::size_t p : places) stages.push_back(row[p].actions.front().stage);
      std::sort(stages.begin(), stages.end());
      for (std::size_t i = 0; i < places.size(); ++i) {
        row[places[i]].actions.front().stage = stages[i];
      }
      places.clear();
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
      const ActionKind kind = row[i].actions.front().kind;
      if (kind == ActionKind::reshard) {
        places.push_back(i);
      } else if (kind != ActionKind::receive_forward && kind != ActionKind::receive_backward) {
        sort();
      }
    }
    sort();
  }
  return table;
}

// Each table as PyTorch loads it, or `refused`; an empty list if PyTorch cannot be imported.
std::vector<std::string> loaded_by_pytorch(const std::vector<Table>& tables) {
  constexpr int kSkipped = 77;
  const testing_support::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  const auto file = [&folder](std::size_t i, const char* ending) {
    return (folder / fmt::format("{}{}", i, ending)).string();
  };
  std::ofstream list(folder / "list");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::ofstream(file(i, ".csv")) << tables[i].text();
    list << fmt::format("{} {} {} {} {} {}\n", tables[i].ranks, tables[i].microbatches,
                        tables[i].chunks, name_of(tables[i].placement), name_of(tables[i].form),
                        file(i, ".csv"));
  }
  list.close();
  const int status = std::system(fmt::format("timeout 240 /usr/bin/python3 '{}/tests/pytorch/"
                                             "pytorch_loader.py' '{}/list'",
                                             RIPELINE_SOURCE_DIR, folder.string())
                                     .c_str());
  std::vector<std::string> loaded;
  if (status == 0) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      loaded.push_back(file_text(file(i, ".csv.loaded")));
    }
  } else {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) << status;
  }
  return loaded;
}

constexpr const char* kRefused = "refused\n";

TEST(LoadedTable, is_pytorchs_own_and_check_refuses_what_pytorch_does) {
  std::vector<Table> tables;
  for (const Recorded& recorded : kRecorded) tables.push_back(table_of(recorded));
  RandomTables random;
  const unsigned cases = number_given("RIPELINE_CASES", 1500);
  for (unsigned i = 0; i < cases; ++i) tables.push_back(random.compute_only());
  const std::vector<std::string> loaded = loaded_by_pytorch(tables);
  if (loaded.empty()) GTEST_SKIP() << "PyTorch cannot be imported";
  unsigned taken = 0;
  unsigned overlapped = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables[i];
    EXPECT_EQ(table.checked().verdict == Outcome::proved, loaded[i] != kRefused) << table.text();
    if (loaded[i] == kRefused) continue;
    ++taken;
    if (table.text().find("OVERLAP") != std::string::npos) ++overlapped;
    const ActionTable pytorchs = in_one_order(read_actions(loaded[i]).table);
    const auto ours = as_loaded(table.cells, table.map(), table.microbatches);
    EXPECT_EQ(write_actions(ours.table), write_actions(pytorchs)) << table.text();
  }
  EXPECT_GT(taken, cases / 2);
  EXPECT_LT(taken, cases - cases / 10);
  EXPECT_GT(overlapped, cases / 50);
  if (std::getenv("RIPELINE_ACCEPT") == nullptr) return;
  for (std::size_t i = 0; i < std::size(kRecorded); ++i) {
    std::ofstream(recorded_file(kRecorded[i], ".loaded.csv"), std::ios::binary) << loaded[i];
  }
}

// Tables that PyTorch's simulator refuses are refused here. The reverse is not true, since that
// simulator buffers sends, but here a send waits for its receive.
TEST(LoadedTable, with_messages_of_its_own_is_refused_where_pytorchs_simulator_deadlocks) {
  std::vector<Table> tables;
  RandomTables random;
  const unsigned cases = number_given("RIPELINE_CASES", 600);
  for (unsigned i = 0; i < cases; ++i) tables.push_back(random.compute_comms());
  const std::vector<std::string> loaded = loaded_by_pytorch(tables);
  if (loaded.empty()) GTEST_SKIP() << "PyTorch cannot be imported";
  unsigned refused = 0;
  unsigned passed = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const bool proved = tables[i].checked().verdict == Outcome::proved;
    if (proved) ++passed;
    if (loaded[i] != kRefused) continue;
    ++refused;
    EXPECT_FALSE(proved) << tables[i].text();
  }
  EXPECT_GT(refused, cases / 20);
  EXPECT_GT(passed, cases / 6);
}

}  // namespace
}  // namespace ripeline::pytorch
