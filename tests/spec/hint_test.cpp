// Tests, by tables, which of the tasks that may start a hint chooses.
#include "spec/hint.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "spec/elaborate.h"
#include "spec/priority.h"

namespace ripeline::spec {
namespace {

struct Row {
  const char* hint;
  // The ops that may start, one word for each choice; `taken` has the chosen op of each choice.
  const char* may_start;
  const char* taken;
};

// RRFP's rules (arXiv 2605.18750) alternate between one backward and one forward. If backwards are
// split, one W runs in each round, when neither I nor F is ready.
constexpr Row kRows[] = {
    {"rounds I, F;", "IF IF IF IF", "IFIF"},
    {"rounds I, F;", "IF I IF IF", "IIFI"},
    {"rounds F, I;", "IF IF F IF", "FIFI"},
    {"prefer I, F;", "IF F IF F", "IFIF"},
    {"prefer F, I;", "IF I IF I", "FIFI"},
    {"rounds I, F; fill W;", "IFW IFW IFW", "IFI"},
    // After W a new round starts, and begins with the backward again.
    {"rounds I, F; fill W;", "IFW W IFW IFW", "IWIF"},
    {"rounds I, F; fill W;", "IFW W FW IFW", "IWFI"},
    {"rounds I, F; fill W;", "W W IFW FW", "WWIF"},
    // An op that is listed twice has two turns.
    {"rounds I, I, F;", "IF IF IF IF IF IF", "IIFIIF"},
    // If no task of a turn may start, the turn is passed and lost.
    {"rounds I, I, F;", "IF F IF IF IF", "IFIIF"},
    {"rounds I, I, F;", "IF IF I IF IF", "IIIIF"},
    {"rounds I, F, I, F, F;", "IF F IF IF IF IF", "IFIFFI"},
    // An op that is neither listed nor a fill does not change the round.
    {"rounds I, F;", "IFW W IFW IFW", "IWFI"},
};

int first_of(const core::Hint& hint, int round, const std::function<bool(int)>& may_start) {
  const auto lanes = hint.tried(round);
  const auto lane = std::find_if(lanes.begin(), lanes.end(), may_start);
  return lane == lanes.end() ? -1 : *lane;
}

TEST(Hint, takes_what_its_rule_says) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.hint) + " of " + row.may_start);
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; stages 1; place s on s;\n"
                                     "op F forward { } op I backward input { needs F at here; }\n"
                                     "op W backward weight { needs I at here; }\nhint h { ") +
                             row.hint + " } dispatch ready by h; }"});
    ASSERT_TRUE(program.ok());
    const core::Hint hint = hint_of(program.value(), 0);
    int round = 0;
    std::string taken;
    std::string words = row.may_start;
    for (std::size_t begin = 0; begin < words.size(); begin = words.find(' ', begin) + 1) {
      const std::string word = words.substr(begin, words.find(' ', begin) - begin);
      const int lane = first_of(hint, round, [&](int l) {
        return word.find(program.value().lane_name(l).back()) != word.npos;
      });
      ASSERT_GE(lane, 0);
      taken += program.value().lane_name(lane).back();
      round = hint.next_round(round, lane);
      if (words.find(' ', begin) == words.npos) break;
    }
    EXPECT_EQ(taken, row.taken);
  }
}

struct ChunkRow {
  const char* hint;
  const char* may_start;  // lanes, separated by commas; one word for each choice
  const char* taken;
};

// Rank 0 has stages 0 and 2 as its chunks 0 and 1; rank 1 has stages 1 and 3.
constexpr ChunkRow kChunkRows[] = {
    {"prefer F@1, F@0, B;", "0F,2F,0B,2B 0F,0B 0B,2B", "2F 0F 2B"},
    {"prefer F@(chunks - 1), F;", "0F,2F,2B 0F,2B 2B", "2F 0F 2B"},
    {"prefer B@0, F, B;", "0F,2B 0B,2B,0F 2B", "0F 0B 2B"},
    // A chunk that is not listed is after all listed ones, in the order of declaration.
    {"prefer B@0, F;", "2B,0F 2B", "0F 2B"},
    {"prefer B@1;", "0B,0F 2F,2B", "0F 2B"},
    {"rounds F@1, B, F@0;", "0F,2F,0B 0F,2F,0B 0F,2F,0B 0F,2F,0B", "2F 0B 0F 2F"},
    // If two places list a lane, the place with the earlier turn counts.
    {"rounds F, F@1, B;", "2F,2B 2F,2B 2F,2B 2F,2B", "2F 2F 2B 2F"},
    {"rounds F, F@1, B;", "0F,2B 0F,2B 0F,2B", "0F 2B 0F"},
    // If a lane is listed by its chunk, it is not a fill.
    {"rounds B@1, F; fill B;", "2B,0B,0F 0B,0F 0B 2B,0F", "2B 0F 0B 2B"},
    {"prefer F; fill B@1;", "0B,2B,2F 0B,2B 2B", "2F 0B 2B"},
};

TEST(Hint, knows_chunks) {
  for (const ChunkRow& row : kChunkRows) {
    SCOPED_TRACE(std::string(row.hint) + " of " + row.may_start);
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; stages 4; place s on s % 2;\n"
                                     "op F forward { needs F at prev; }\n"
                                     "op B backward { needs F at here, B at next; }\nhint h { ") +
                             row.hint + " } dispatch ready by h; }"});
    ASSERT_TRUE(program.ok());
    const core::Hint hint = hint_of(program.value(), 0);
    int round = 0;
    std::string taken;
    std::istringstream words(row.may_start);
    for (std::string word; words >> word;) {
      const int lane = first_of(hint, round, [&](int l) {
        return ("," + word + ",").find("," + program.value().lane_name(l) + ",") != word.npos;
      });
      ASSERT_GE(lane, 0);
      taken += (taken.empty() ? "" : " ") + program.value().lane_name(lane);
      round = hint.next_round(round, lane);
    }
    EXPECT_EQ(taken, row.taken);
  }
}

struct ValueRow {
  const char* hint;
  const char* may_start;  // the tasks, each between two commas
  std::int64_t held;      // the amount that each pool holds
  const char* taken;      // empty if no listed task may start
};

// The ranks and stages are those of kChunkRows; rank 0 holds some of `a`.
constexpr ValueRow kValueRows[] = {
    {"priority F = m;", ",0F0,0F3,2F1,", 0, "0F3"},
    {"priority F = -m;", ",0F2,0F3,2F1,", 0, "2F1"},
    {"priority F = chunk, B = 1;", ",0F0,2F1,0B0,", 0, "2F1"},
    // For equal values: the op listed first, then the ties, then the lowest microbatch decide.
    {"priority B = 1, F = chunk;", ",0F0,2F1,0B0,", 0, "0B0"},
    {"priority F = 0, B = 0;", ",2F1,0F3,0F2,0B0,", 0, "0F2"},
    {"priority B = m div 4;", ",0B0,2B3,2B1,", 0, "2B1"},
    {"priority F = s + r + chunks + microbatches;", ",0F0,2F1,", 0, "2F1"},
    // A value can depend on the amount that the pool holds.
    {"priority F = 2, B = a;", ",0F0,0B0,", 2, "0F0"},
    {"priority F = 2, B = a;", ",0F0,0B0,", 3, "0B0"},
    {"priority F = m % 2 == 0 and a < 2 ? 9 : -9, B = 0;", ",0F1,0F2,0B0,", 1, "0F2"},
    {"priority F = m % 2 == 0 and a < 2 ? 9 : -9, B = 0;", ",0F1,0F2,0B0,", 2, "0B0"},
    {"priority F = 1;", ",0B0,", 0, ""},
};

// Checks the values and the order of ties; the arbiter and the machine choose the greatest.
TEST(Hint, has_the_values_and_ties_of_priorities) {
  for (const ValueRow& row : kValueRows) {
    SCOPED_TRACE(std::string(row.hint) + " of " + row.may_start);
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; stages 4; place s on s % 2;\n"
                                     "op F forward { needs F at prev; acquires a; }\n"
                                     "op B backward { needs F at here, B at next; releases a; }\n"
                                     "resource a per rank { capacity 4; } hint h { ") +
                             row.hint + " } dispatch ready by h; }"});
    ASSERT_TRUE(program.ok());
    constexpr int kMicrobatches = 8;
    const core::Hint hint = hint_of(program.value(), 0);
    const Priorities priorities(program.value(), 0);
    Task taken;
    std::int64_t most = 0;
    for (const core::Hint::Valued& valued : hint.valued()) {
      for (int m = 0; m < kMicrobatches; ++m) {
        const std::string task = "," + program.value().task_name(valued.lane, m) + ",";
        if (std::string(row.may_start).find(task) == std::string::npos) continue;
        const std::int64_t value = priorities.value({valued.lane, m}, kMicrobatches,
                                                    [&](int /*pool*/) { return row.held; });
        if (taken.lane >= 0 && value <= most) continue;
        taken = {valued.lane, m};
        most = value;
      }
    }
    EXPECT_EQ(taken.lane < 0 ? "" : program.value().task_name(taken.lane, taken.microbatch),
              row.taken);
  }
}

struct FollowRow {
  const char* fill;       // the ops that the hint fills with
  const char* places;     // positions of the next F, B and W in the order; - if none is left
  const char* may_start;  // ops
  const char* has_room;   // ops
  char followed;          // the op that is chosen, or -
  char awaited;           // the op for which the hint waits, or -
};

constexpr FollowRow kFollowRows[] = {
    // The earliest op that may start is chosen; ops that the order does not list are last.
    {"", "012", "FBW", "FBW", 'F', 'F'},
    {"", "012", "BW", "FBW", 'B', 'F'},
    {"", "210", "FB", "FB", 'B', 'B'},
    {"", "--0", "FB", "FBW", 'F', 'W'},
    {"", "---", "B", "FBW", 'B', '-'},
    {"", "012", "", "", '-', '-'},
    // The choice with fillers: the earliest other op if it may start, else a filler, else as above.
    {"W", "120", "FBW", "FBW", 'F', 'F'},
    {"W", "120", "BW", "FBW", 'W', 'F'},
    {"W", "120", "B", "FBW", 'B', 'F'},
    {"W", "12-", "BW", "BW", 'W', 'W'},
    {"W", "12-", "B", "B", 'B', 'B'},
    {"W", "-1-", "FW", "FB", 'W', 'B'},
    {"BW", "0--", "BW", "", 'B', 'B'},
    {"WB", "0--", "BW", "", 'W', 'W'},
    {"B", "---", "FW", "FW", 'F', '-'},
};

TEST(Hint, follows_an_order_and_knows_what_it_waits_for) {
  struct FakeOp {
    OpKind kind;
  };
  struct FakeLane {
    int op;
  };
  struct FakePlace {
    int op;
    [[nodiscard]] static bool lists(const FakeLane& /*lane*/) { return true; }
    [[nodiscard]] static bool tells_apart() { return false; }
  };
  const std::string names = "FBW";
  const std::vector<FakeOp> ops = {
      {OpKind::forward}, {OpKind::backward}, {OpKind::backward_weight}};
  const std::vector<FakeLane> lanes = {{0}, {1}, {2}};
  for (const FollowRow& row : kFollowRows) {
    SCOPED_TRACE(std::string("fill ") + row.fill + ", places " + row.places + ", may start " +
                 row.may_start + ", room " + row.has_room);
    std::vector<FakePlace> fill;
    for (const char c : std::string(row.fill)) {
      fill.push_back({static_cast<int>(names.find(c))});
    }
    const core::Hint hint(core::HintRule::order, ops, lanes, 0, 3, std::vector<FakePlace>(), fill);
    const auto place = [&](int lane) {
      return row.places[lane] == '-' ? core::kNoPlace : row.places[lane] - '0';
    };
    const auto is_in = [&](const char* text, int lane) {
      return std::string(text).find(names[static_cast<std::size_t>(lane)]) != std::string::npos;
    };
    const auto may_start = [&](int lane) { return is_in(row.may_start, lane); };
    const auto has_room = [&](int lane) { return is_in(row.has_room, lane); };
    const auto name = [&](int lane) {
      return lane < 0 ? '-' : names[static_cast<std::size_t>(lane)];
    };
    EXPECT_EQ(name(hint.followed(place, may_start)), row.followed);
    EXPECT_EQ(name(hint.awaited(place, has_room, may_start)), row.awaited);
  }
}

TEST(Hint, folds_chunks_per_rank) {
  const auto places = [](const char* stages) {
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; ") + stages +
                             " op F forward { } hint h { prefer F@(r % chunks), F; }\n"
                             "dispatch ready by h; }"});
    return program.ok() ? program.value().dispatch.hint.places : std::vector<HintPlace>();
  };
  using Places = std::vector<HintPlace>;
  EXPECT_EQ(places("stages 4; place s on s % 2;"), (Places{{.op = 0, .chunk = {0, 1}}, {.op = 0}}));
  EXPECT_EQ(places("stages 3; place s on s % 2;"), (Places{{.op = 0, .chunk = {0, 0}}, {.op = 0}}));
  // If each rank has one chunk, a place for any chunk means that chunk.
  EXPECT_EQ(places("stages 2; place s on s;"), (Places{{.op = 0}, {.op = 0}}));
}

}  // namespace
}  // namespace ripeline::spec
