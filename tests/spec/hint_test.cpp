// What a hint takes next, given what may start: tables.
#include "spec/hint.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "spec/elaborate.h"

namespace ripeline::spec {
namespace {

struct Row {
  const char* hint;
  // Ops that may start, one word for each choice; the answer is a letter each.
  const char* may_start;
  const char* taken;
};

// RRFP's rules (arXiv 2605.18750): one backward, then one forward, and again; of a split backward,
// W only when neither is ready, one in a round.
constexpr Row kRows[] = {
    {"rounds I, F;", "IF IF IF IF", "IFIF"},
    {"rounds I, F;", "IF I IF IF", "IIFI"},
    {"rounds F, I;", "IF IF F IF", "FIFI"},
    {"prefer I, F;", "IF F IF F", "IFIF"},
    {"prefer F, I;", "IF I IF I", "FIFI"},
    {"rounds I, F; fill W;", "IFW IFW IFW", "IFI"},
    // After W comes a new round, which begins with the backward again.
    {"rounds I, F; fill W;", "IFW W IFW IFW", "IWIF"},
    {"rounds I, F; fill W;", "IFW W FW IFW", "IWFI"},
    {"rounds I, F; fill W;", "W W IFW FW", "WWIF"},
    // An op has a turn for each place.
    {"rounds I, I, F;", "IF IF IF IF IF IF", "IIFIIF"},
    // A place that has nothing is passed, and its turn is over.
    {"rounds I, I, F;", "IF F IF IF IF", "IFIIF"},
    {"rounds I, I, F;", "IF IF I IF IF", "IIIIF"},
    {"rounds I, F, I, F, F;", "IF F IF IF IF IF", "IFIFFI"},
    // An op that is neither an entry nor a fill leaves the round where it is.
    {"rounds I, F;", "IFW W IFW IFW", "IWFI"},
};

TEST(Hint, takes_what_its_rule_says) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.hint) + " of " + row.may_start);
    const auto program =
        compile({"hint", std::string("pipeline p { microbatches any; stages 1; place s on s;\n"
                                     "op F forward { } op I backward input { needs F at here; }\n"
                                     "op W backward weight { needs I at here; }\nhint h { ") +
                             row.hint + " } dispatch ready by h; }"});
    ASSERT_TRUE(program.ok());
    const HintPolicy policy(program.value(), 0, 8);
    HintPolicy::State state = policy.initial();
    std::string taken;
    std::string words = row.may_start;
    for (std::size_t begin = 0; begin < words.size(); begin = words.find(' ', begin) + 1) {
      const std::string word = words.substr(begin, words.find(' ', begin) - begin);
      const int lane = policy.choose(state, [&](int l) {
        return word.find(program.value().lane_name(l).back()) != word.npos;
      });
      ASSERT_GE(lane, 0);
      taken += program.value().lane_name(lane).back();
      policy.started(state, lane);
      if (words.find(' ', begin) == words.npos) break;
    }
    EXPECT_EQ(taken, row.taken);
  }
}

struct ChunkRow {
  const char* hint;
  const char* may_start;  // lanes, with commas between them; a word for each choice
  const char* taken;
};

// Rank 0 has the stages 0 and 2, its chunks 0 and 1; rank 1 the stages 1 and 3.
constexpr ChunkRow kChunkRows[] = {
    {"prefer F@1, F@0, B;", "0F,2F,0B,2B 0F,0B 0B,2B", "2F 0F 2B"},
    {"prefer F@(chunks - 1), F;", "0F,2F,2B 0F,2B 2B", "2F 0F 2B"},
    {"prefer B@0, F, B;", "0F,2B 0B,2B,0F 2B", "0F 0B 2B"},
    // A chunk that is not listed comes behind all that is, in order of declaration.
    {"prefer B@0, F;", "2B,0F 2B", "0F 2B"},
    {"prefer B@1;", "0B,0F 2F,2B", "0F 2B"},
    {"rounds F@1, B, F@0;", "0F,2F,0B 0F,2F,0B 0F,2F,0B 0F,2F,0B", "2F 0B 0F 2F"},
    // Of two places that list a lane, the one whose turn comes first counts.
    {"rounds F, F@1, B;", "2F,2B 2F,2B 2F,2B 2F,2B", "2F 2F 2B 2F"},
    {"rounds F, F@1, B;", "0F,2B 0F,2B 0F,2B", "0F 2B 0F"},
    // A lane that is listed by its chunk is no fill.
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
    const HintPolicy policy(program.value(), 0, 8);
    HintPolicy::State state = policy.initial();
    std::string taken;
    std::istringstream words(row.may_start);
    for (std::string word; words >> word;) {
      const int lane = policy.choose(state, [&](int l) {
        return ("," + word + ",").find("," + program.value().lane_name(l) + ",") != word.npos;
      });
      ASSERT_GE(lane, 0);
      taken += (taken.empty() ? "" : " ") + program.value().lane_name(lane);
      policy.started(state, lane);
    }
    EXPECT_EQ(taken, row.taken);
  }
}

struct ValueRow {
  const char* hint;
  const char* may_start;  // tasks, with commas around
  std::int64_t held;      // by each pool
  const char* taken;      // empty: what places list may not start
};

// As above; a is held on rank 0.
constexpr ValueRow kValueRows[] = {
    {"priority F = m;", ",0F0,0F3,2F1,", 0, "0F3"},
    {"priority F = -m;", ",0F2,0F3,2F1,", 0, "2F1"},
    {"priority F = chunk, B = 1;", ",0F0,2F1,0B0,", 0, "2F1"},
    // Of equal values the op listed first, then the ties, then the lowest microbatch.
    {"priority B = 1, F = chunk;", ",0F0,2F1,0B0,", 0, "0B0"},
    {"priority F = 0, B = 0;", ",2F1,0F3,0F2,0B0,", 0, "0F2"},
    {"priority B = m div 4;", ",0B0,2B3,2B1,", 0, "2B1"},
    {"priority F = s + r + chunks + microbatches;", ",0F0,2F1,", 0, "2F1"},
    // What the pool holds.
    {"priority F = 2, B = a;", ",0F0,0B0,", 2, "0F0"},
    {"priority F = 2, B = a;", ",0F0,0B0,", 3, "0B0"},
    {"priority F = m % 2 == 0 and a < 2 ? 9 : -9, B = 0;", ",0F1,0F2,0B0,", 1, "0F2"},
    {"priority F = m % 2 == 0 and a < 2 ? 9 : -9, B = 0;", ",0F1,0F2,0B0,", 2, "0B0"},
    {"priority F = 1;", ",0B0,", 0, ""},
};

TEST(Hint, takes_the_greatest_priority) {
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
    const HintPolicy policy(program.value(), 0, kMicrobatches);
    const auto next = [&](int lane, int from) {
      for (int m = from; m < kMicrobatches; ++m) {
        const std::string task = "," + program.value().task_name(lane, m) + ",";
        if (std::string(row.may_start).find(task) != std::string::npos) return m;
      }
      return -1;
    };
    const Task taken = policy.greatest(next, [&](int) { return row.held; });
    EXPECT_EQ(taken.lane < 0 ? "" : program.value().task_name(taken.lane, taken.microbatch),
              row.taken);
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
  // Where each rank has one chunk, any chunk is that.
  EXPECT_EQ(places("stages 2; place s on s;"), (Places{{.op = 0}, {.op = 0}}));
}

}  // namespace
}  // namespace ripeline::spec
