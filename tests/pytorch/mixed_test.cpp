// Tests schedules of PyTorch whose backwards are whole for some microbatches and split for others:
// their times, compared with the oracle with a clock and with the cells themselves; that they are
// proved; and that their export has the same cells.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pytorch/export.h"
#include "pytorch/lower.h"
#include "pytorch/program.h"
#include "spec/elaborate.h"
#include "spec/long_period.h"
#include "tests/oracle/oracle.h"
#include "tests/pytorch/dualpipe_v.h"
#include "tests/simulate/runs.h"
#include "trace/about.h"
#include "verify/verify.h"

namespace ripeline::pytorch {
namespace {

using testing_support::TableRun;
using verify::Outcome;

constexpr std::int64_t kUnit = 1'000'000;  // nanoseconds

// The cost of each kind of action: F, B, I, W.
using Costs = std::map<ActionKind, std::int64_t>;
const Costs kEqual = {{ActionKind::forward, 1},
                      {ActionKind::backward, 2},
                      {ActionKind::backward_input, 1},
                      {ActionKind::backward_weight, 1}};

spec::Program program_of_text(const std::string& csv, const Costs& costs = kEqual,
                              std::optional<std::int64_t> together = std::nullopt) {
  const auto made = program_of({.name = "mixed.csv", .text = csv}, {});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.errors().front().message) << '\n' << csv;
  spec::ElaborateOptions options;
  options.read_file = [&](const std::string&) {
    return spec::Result<std::string>(made.value().order);
  };
  const std::map<std::string, std::int64_t> defines = {
      {"f", costs.at(ActionKind::forward)},
      {"b", costs.at(ActionKind::backward)},
      {"i", costs.at(ActionKind::backward_input)},
      {"w", costs.at(ActionKind::backward_weight)}};
  for (const auto& [name, value] : defines) {
    if (made.value().text.find("param " + name + " ") != std::string::npos) {
      options.defines[name] = value;
    }
  }
  if (together) options.defines["together"] = *together;
  auto program = spec::compile({.name = "mixed.csv", .text = made.value().text}, options);
  EXPECT_TRUE(program.ok()) << made.value().text
                            << (program.ok() ? "" : program.errors().front().message);
  return std::move(program).value();
}

// The time of a run, in units.
double makespan_of(const spec::Program& program) {
  const auto run = TableRun(program).run(program.microbatches.min);
  EXPECT_TRUE(run.status.ok() && !run.stuck) << run.status.message() << run.waiting;
  return static_cast<double>(run.makespan.count()) / kUnit;
}

// Each rank runs its cells in sequence, each as soon as its needs are met. A whole backward yields
// its gradient at its end.
double makespan_of_cells(const ActionTable& table, int stages, const Costs& costs) {
  std::map<std::array<int, 3>, double> ended;
  const auto key = [](const Action& a) {
    const auto result = result_of(a);
    return std::array{static_cast<int>(result.kind), result.stage, result.microbatch};
  };
  std::vector<double> free(table.rows.size(), 0);
  std::vector<std::size_t> next(table.rows.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < table.rows.size(); ++rank) {
      while (next[rank] < table.rows[rank].size()) {
        const Action& action = table.rows[rank][next[rank]].actions.front();
        double start = free[rank];
        bool there = true;
        for (const Action& need : needs_of(action, stages)) {
          const auto it = ended.find(key(need));
          there = there && it != ended.end();
          if (it != ended.end()) start = std::max(start, it->second);
        }
        if (!there) break;
        free[rank] = start + static_cast<double>(costs.at(action.kind));
        ended[key(action)] = free[rank];
        ++next[rank];
        progress = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < table.rows.size(); ++rank) {
    EXPECT_EQ(next[rank], table.rows[rank].size());
  }
  return *std::max_element(free.begin(), free.end());
}

// The makespan in the oracle's world if everything happens as early as possible and tasks take
// their costs; nullopt if the program does not fit.
std::optional<double> makespan_of_oracle(const spec::Program& program, const Costs& costs) {
  const oracle::World world =
      oracle::world_of(program, program.microbatches.min, oracle::Choices::dispatch);
  if (!world.fits()) return std::nullopt;
  const auto cost_of = [&](int task) {
    const auto lane = static_cast<std::size_t>(world.tasks()[static_cast<std::size_t>(task)].lane);
    switch (program.ops[static_cast<std::size_t>(program.lanes[lane].op)].kind) {
      case spec::OpKind::forward:
        return costs.at(ActionKind::forward);
      case spec::OpKind::backward:
        return costs.at(ActionKind::backward);
      case spec::OpKind::backward_input:
        return costs.at(ActionKind::backward_input);
      default:
        return costs.at(ActionKind::backward_weight);
    }
  };
  oracle::State state{};
  std::multimap<std::int64_t, int> running;  // by the times of their ends
  std::int64_t now = 0;
  while (!world.finished(state)) {
    std::vector<oracle::Move> moves;
    world.moves(state, moves);
    const auto at_once = std::find_if(moves.begin(), moves.end(), [](const oracle::Move& move) {
      return move.what != oracle::Move::Do::end;
    });
    if (at_once != moves.end()) {
      if (at_once->what == oracle::Move::Do::start) {
        running.emplace(now + cost_of(at_once->item), at_once->item);
      }
      state = world.after(state, *at_once);
      continue;
    }
    EXPECT_FALSE(running.empty());
    if (running.empty()) return -1;
    now = running.begin()->first;
    state = world.after(state, {oracle::Move::Do::end, running.begin()->second});
    running.erase(running.begin());
  }
  return static_cast<double>(now);
}

class RandomTable {
 public:
  explicit RandomTable(std::uint64_t seed) : random_(seed) {}

  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  // Draws an order that ranks could run one cell at a time, so it never deadlocks. About `odds` in
  // four backwards are whole.
  ActionTable draw(const StageMap& map, int microbatches, int odds) {
    std::vector<std::vector<Action>> left(static_cast<std::size_t>(map.ranks));
    for (int s = 0; s < map.stages(); ++s) {
      for (int m = 0; m < microbatches; ++m) {
        auto& rank = left[static_cast<std::size_t>(map.rank(s))];
        rank.push_back({ActionKind::forward, s, m});
        if (between(1, 4) <= odds) {
          rank.push_back({ActionKind::backward, s, m});
        } else {
          rank.push_back({ActionKind::backward_input, s, m});
          rank.push_back({ActionKind::backward_weight, s, m});
        }
      }
    }
    return ordered(map, std::move(left));
  }

 private:
  ActionTable ordered(const StageMap& map, std::vector<std::vector<Action>> left) {
    ActionTable table;
    table.rows.resize(left.size());
    std::set<std::array<int, 3>> done;
    const auto key = [](const Action& a) {
      return std::array{static_cast<int>(a.kind), a.stage, a.microbatch};
    };
    const auto is_ready = [&](const Action& action) {
      const auto needs = needs_of(action, map.stages());
      return std::all_of(needs.begin(), needs.end(),
                         [&](const Action& need) { return done.contains(key(need)); });
    };
    std::vector<std::pair<std::size_t, std::size_t>> ready;
    do {
      ready.clear();
      for (std::size_t rank = 0; rank < left.size(); ++rank) {
        for (std::size_t i = 0; i < left[rank].size(); ++i) {
          if (is_ready(left[rank][i])) ready.emplace_back(rank, i);
        }
      }
      if (ready.empty()) break;
      const auto [rank, i] =
          ready[static_cast<std::size_t>(between(0, static_cast<int>(ready.size()) - 1))];
      const Action action = left[rank][i];
      left[rank].erase(left[rank].begin() + static_cast<std::ptrdiff_t>(i));
      table.rows[rank].push_back({.actions = {action}});
      done.insert(key(result_of(action)));
    } while (!ready.empty());
    return table;
  }

  std::mt19937_64 random_;
};

TEST(MixedBackwards, take_what_the_oracle_and_the_cells_say) {
  int against_oracle = 0;
  int mixed = 0;
  for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const int ranks = random.between(1, 3);
    const int chunks = random.between(1, 2);
    const int microbatches = random.between(1, 5);
    const Placement placement = chunks == 1                 ? Placement::chain
                                : random.between(0, 1) == 0 ? Placement::loop
                                                            : Placement::v;
    const auto map = place_stages(placement, ranks, ranks * chunks);
    ASSERT_TRUE(map);
    const ActionTable table = random.draw(*map, microbatches, random.between(0, 4));
    const Costs costs = {{ActionKind::forward, random.between(1, 4)},
                         {ActionKind::backward, random.between(1, 6)},
                         {ActionKind::backward_input, random.between(1, 4)},
                         {ActionKind::backward_weight, random.between(1, 4)}};
    const std::string text = write_actions(table);
    const spec::Program program = program_of_text(text, costs);
    const double makespan = makespan_of(program);
    ASSERT_EQ(makespan, makespan_of_cells(table, map->stages(), costs)) << text;
    if (const auto led = makespan_of_oracle(program, costs)) {
      ASSERT_EQ(makespan, *led) << text;
      ++against_oracle;
    }
    mixed += program.ops.size() == 4 ? 1 : 0;
    if (seed % 5 != 0) continue;
    ASSERT_EQ(verify::verify(program).outcome, Outcome::proved) << text;
    const auto exported = export_actions(program, microbatches);
    ASSERT_TRUE(exported.ok()) << exported.errors().front().message;
    ASSERT_EQ(write_actions(exported.value().table), text);
  }
  EXPECT_GE(against_oracle, 800);
  EXPECT_GE(mixed, 700);
}

// The backwards of any subset of hundreds of microbatches are whole.
TEST(MixedBackwards, of_hundreds_of_microbatches_are_as_exact) {
  for (const int microbatches : {63, 64, 65, 130, 300}) {
    SCOPED_TRACE(microbatches);
    RandomTable random(static_cast<std::uint64_t>(microbatches));
    const auto map = place_stages(Placement::chain, 2, 2);
    const ActionTable table = random.draw(*map, microbatches, random.between(1, 3));
    const std::string text = write_actions(table);
    const spec::Program program = program_of_text(text);
    EXPECT_EQ(spec::has_long_period(program), microbatches > 64);
    EXPECT_EQ(makespan_of(program), makespan_of_cells(table, 2, kEqual));
    EXPECT_EQ(verify::verify(program).outcome, Outcome::proved);
    const auto exported = export_actions(program, microbatches);
    ASSERT_TRUE(exported.ok()) << exported.errors().front().message;
    EXPECT_EQ(write_actions(exported.value().table), text);
    // The lanes of a trace are read back as they were written.
    const core::OwnedFacts facts = lower::facts_of(program);
    const trace::About about(facts.facts(), {.microbatches = microbatches});
    const auto read = trace::About::from_json(about.to_json());
    ASSERT_TRUE(read.ok()) << read.message();
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
      EXPECT_EQ(read.value().facts().lanes[lane].share, program.lanes[lane].share);
    }
  }
}

TEST(MixedBackwards, send_their_gradient_when_they_end) {
  const std::string split = "0F0,0I0,0W0\n1F0,1B0\n";
  EXPECT_EQ(makespan_of(program_of_text(split)), 6);
  EXPECT_EQ(makespan_of(program_of_text("0F0,0B0\n1F0,1B0\n")), 6);
  EXPECT_EQ(makespan_of(program_of_text("0F0,0I0,0W0\n1F0,1I0,1W0\n")), 5);
}

// The span minus the work is the paper's bubble, (p - 1)(F&B + B - 3W) for two stages.
TEST(MixedBackwards, of_dualpipe_v_take_what_the_paper_says) {
  const std::string text = testing_support::dualpipe_v(4, 10);
  EXPECT_EQ(makespan_of(program_of_text(text)), 66);
  for (const int ranks : {2, 4, 8}) {
    for (const int microbatches : {2 * ranks, 2 * ranks + 3, 80}) {
      const spec::Program program =
          program_of_text(testing_support::dualpipe_v(ranks, microbatches));
      EXPECT_EQ(makespan_of(program), 6 * microbatches + 2 * (ranks - 1))
          << ranks << ' ' << microbatches;
      EXPECT_EQ(verify::verify(program).outcome, Outcome::proved);
    }
  }
  // The cost of a pair is a parameter.
  const spec::Program hidden = program_of_text(text, kEqual, 2);
  EXPECT_LT(makespan_of(hidden), 66);
  EXPECT_EQ(makespan_of(program_of_text(text, kEqual, 3)), 66);
}

TEST(MixedBackwards, have_a_param_for_each_kind_of_overlap) {
  const std::string text =
      "0F0,0F1,0F2,0I0,0W0,0B1,0B2\n1F0,(1F1;1I0)OVERLAP_F_B,1W0,(1F2;1B1)OVERLAP_F_B,1B2\n";
  const auto made = program_of({.name = "both.csv", .text = text}, {});
  ASSERT_TRUE(made.ok());
  EXPECT_NE(made.value().text.find("  param together = f + b;\n"), std::string::npos);
  EXPECT_NE(made.value().text.find("  param together_i = f + i;\n"), std::string::npos);
  const auto split =
      program_of({.name = "split.csv",
                  .text = "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,(1F1;1I0)OVERLAP_F_B,1W0,1I1,"
                          "1W1\n"},
                 {});
  ASSERT_TRUE(split.ok());
  EXPECT_NE(split.value().text.find("  param together = f + i;\n"), std::string::npos);
}

TEST(MixedBackwards, of_one_microbatch_are_no_program) {
  const auto made = program_of({.name = "twice.csv", .text = "0F0,0B0,0I0,0W0\n1F0,1B0\n"}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.errors().front().id, "csv-mixed");
}

// The other backwards of stage 0 are whole, and the whole backward of microbatch 2 is missing.
TEST(MixedBackwards, that_are_missing_are_refuted) {
  const spec::Program program =
      program_of_text("0F0,0F1,0F2,0I0,0W0,0B1\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(verify::verify(program).outcome, Outcome::refuted);
  const int whole = program.lane_of(1, 0);
  ASSERT_GE(whole, 0);
  EXPECT_EQ(program.tasks_of(whole, 3), 2);
}

}  // namespace
}  // namespace ripeline::pytorch
