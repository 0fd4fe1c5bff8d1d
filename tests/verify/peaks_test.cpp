// Tests peaks: bounds that a run reaches, least bounds if states are few, and bounds without a run.
#include "verify/judge/peaks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"

namespace ripeline::verify {
namespace {

using spec::Program;
using testing_support::chain_text;
using testing_support::compiled;
using testing_support::find;

using Found = std::vector<std::optional<Peak>>;

// One stage whose ops run on several engines.
std::string engines_text(const std::string& microbatches, const std::string& dispatch) {
  return R"(pipeline engines {
  stages 1;
  place s on s;
  op F forward { acquires a; }
  op O offload on copy_out { needs F at here; releases a; }
  op L reload on copy_in { needs O at here; acquires a; }
  op B backward { needs L at here; releases a; }
  resource a per rank { capacity 5; }
  order listed on r { (F O L B) * microbatches; }
  microbatches )" +
         microbatches + ";\n  dispatch " + dispatch + ";\n}\n";
}

Found peaks(const Program& program, const std::string& resource,
            const VerifyOptions& options = {}) {
  return find(verify(program, options), "memory").peak.at(resource);
}

Found reached(const std::vector<std::int64_t>& bounds) {
  Found found;
  for (const std::int64_t bound : bounds) found.emplace_back(Peak{.bound = bound, .reached = true});
  return found;
}

TEST(Peaks, are_reached_by_some_run) {
  EXPECT_EQ(peaks(compiled(chain_text(4, "ready by bf")), "activation"), reached({4, 3, 2, 1}));
  EXPECT_EQ(peaks(compiled(chain_text(4, "in order one_f_one_b")), "activation"),
            reached({4, 3, 2, 1}));
  EXPECT_EQ(peaks(compiled(testing_support::v_text(4, true)), "activation"), reached({8, 8, 8, 8}));
  EXPECT_EQ(peaks(compiled(testing_support::order_via("slots 2", "any")), "activation"),
            reached({4, 3, 2, 1}));
  EXPECT_EQ(peaks(compiled(engines_text("any", "ready")), "a"), reached({5}));
}

// All members of a group do the same tasks in lockstep.
TEST(Peaks, of_a_group_are_reached_by_all_members) {
  for (const char* agree : {"intersection", "vote", "leader"}) {
    const Program program = compiled(testing_support::group_text(2, agree, "via slots"));
    EXPECT_EQ(peaks(program, "a"), reached({2, 1})) << agree;
  }
}

// A backward may still run and hold its activation when the next forward starts beside it.
TEST(Peaks, of_pairs_are_reached_side_by_side) {
  const Program program = compiled(R"(pipeline pairs {
  microbatches any;
  stages 1;
  place s on s;
  op F forward { acquires a; }
  op B backward { needs F at here; releases a; }
  pair B, F;
  resource a per stage { }
  order listed on r { F; (B F) * (microbatches - 1); B; }
  dispatch in order listed;
}
)");
  EXPECT_EQ(peaks(program, "a"), reached({2}));
}

// By cuts, O and L may hold the room together; in the order they never do, because L needs O.
TEST(Peaks, are_the_least_where_every_state_can_be_visited) {
  const Found few = peaks(compiled(engines_text("1 .. 3", "in order listed")), "a");
  EXPECT_EQ(few, (Found{Peak{.bound = 1, .reached = true, .by_states = true}}));
  const Found any = peaks(compiled(engines_text("any", "in order listed")), "a");
  EXPECT_EQ(any, Found{Peak{.bound = 2}}) << "no run is known that reaches it";
}

// The peak is reached with two microbatches; with a third one the order deadlocks at once.
TEST(Peaks, are_looked_for_with_each_of_a_few_microbatches) {
  const Program program = compiled(R"(pipeline sticks {
  microbatches any;
  stages 2;
  place s on 0;
  op F forward { needs F at prev; acquires a leaving 1; }
  op B backward { needs F at here, B at next; releases a; }
  resource a per stage { capacity 3; }
  order listed on r {
    F@0 * microbatches;
    F@1 * microbatches;
    B@1 * microbatches;
    B@0 * microbatches;
  }
  dispatch in order listed;
}
)");
  EXPECT_EQ(peaks(program, "a"), reached({2, 2}));
}

// O has not released its room yet, but F left room for one more unit when F started.
TEST(Peaks, count_what_must_remain_beside_other_engines) {
  const Program program = compiled(R"(pipeline leaves {
  microbatches any;
  stages 1;
  place s on s;
  op F forward { acquires a leaving 1; }
  op O offload on copy_out { needs F at here; releases a; }
  op B backward { needs O at here; }
  resource a per stage { capacity 3; }
  dispatch ready;
}
)");
  EXPECT_EQ(peaks(program, "a"), reached({2}));
}

// Counts cannot describe lanes that need an earlier microbatch of another lane. But guards still
// respect the capacity, and a run with one microbatch holds 1.
TEST(Peaks, are_known_where_counts_cannot_follow) {
  const auto text = [](const std::string& microbatches, const std::string& capacity) {
    return R"(pipeline shares {
  stages 2;
  place s on s;
  op F forward on m where m % 3 != 1 { needs F at prev; acquires a; }
  op B backward on m where m % 3 != 1 { needs F at here, B at next; releases a; }
  op P on m where m % 2 == 0 { needs F at here of m - 1; }
  resource a per rank { )" +
           capacity + R"( }
  assert peak a <= 4;
  microbatches )" +
           microbatches + ";\n  dispatch ready;\n}\n";
  };
  const Found least(2, Peak{.bound = 1, .reached = true, .by_states = true});
  EXPECT_EQ(peaks(compiled(text("1", "capacity 3;")), "a"), least);
  EXPECT_EQ(peaks(compiled(text("1", "")), "a"), least);
  EXPECT_EQ(peaks(compiled(text("6", "capacity 3;")), "a"), reached({3, 3}));
}

TEST(Peaks, are_bounds_alone_where_no_run_is_looked_for) {
  const Program program = compiled(chain_text(2, "ready by bf"));
  EXPECT_EQ(peaks(program, "activation", {.find_runs = false}),
            (Found{Peak{.bound = 2}, Peak{.bound = 1}}));
}

TEST(Peaks, are_called_at_most_in_reports) {
  const spec::Source source{"engines.ripe", engines_text("any", "in order listed")};
  const Program program = spec::compile(source).value();
  const Verdict verdict = verify(program);
  EXPECT_NE(report_text(program, source, verdict).find("  peak a: at most 2\n"), std::string::npos);
  const nlohmann::json memory = report_json(program, source, verdict).at("obligations").at(3);
  EXPECT_EQ(memory.at("pool_peak").at("a"), nlohmann::json::parse("[2]"));
  EXPECT_EQ(memory.at("pool_peak_reached").at("a"), nlohmann::json::parse("[false]"));
  ASSERT_TRUE(verdict.proved);
  EXPECT_EQ(verdict.proved->peaks(), (std::vector<std::optional<std::int64_t>>{2}));
}

}  // namespace
}  // namespace ripeline::verify
