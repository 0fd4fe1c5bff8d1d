#include "verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/elaborate.h"
#include "tests/support/programs.h"
#include "tests/support/verdicts.h"
#include "verify/report.h"

namespace ripeline::verify::verify_test {
namespace {

using spec::Machine;
using spec::Program;
using testing_support::chain_text;
using testing_support::compiled;
using testing_support::find;
using testing_support::join_text;
using testing_support::labels_text;
using testing_support::recompute_text;
using testing_support::v_text;

// The outcome, the method and the reason of each obligation, which a failing test prints.
std::string summary(const Verdict& verdict) {
  std::string text;
  for (const Obligation& o : verdict.obligations) {
    text += name_of(o.kind) + " " + name_of(o.outcome) + " " + name_of(o.method) + " " + o.reason +
            "\n";
  }
  return text;
}

void expect_replays_stuck(const Program& program, const Counterexample& example) {
  const Machine machine(program, example.microbatches);
  Machine::State state = machine.initial();
  for (const spec::Event& event : example.events) {
    ASSERT_TRUE(machine.is_enabled(state, event, Machine::Chooser::dispatch))
        << machine.describe(event);
    machine.step(state, event);
  }
  EXPECT_TRUE(machine.stuck(state));
  EXPECT_FALSE(example.waits.empty());
}

struct Proved {
  std::string name;
  std::string text;
  std::string method;  // the method for deadlock
};

// The solver's limit per query is a hundredth of the usual one, about half a second of Z3's time;
// the search may visit no states. The load of the machine affects neither limit.
TEST(Verify, proves_the_usual_schedules_for_every_count_in_few_steps_at_8_ranks) {
  constexpr VerifyOptions kFew = {.solver_steps = 500'000, .search_states = 0};
  const std::vector<Proved> rows = {
      {"1f1b", chain_text(8, "in order one_f_one_b"), "cuts"},
      {"gpipe", chain_text(8, "in order gpipe", "any", ""), "cuts"},
      {"bf", chain_text(8, "ready by bf"), "counters"},
      {"prefer", chain_text(8, "ready by b_first"), "counters"},
      {"ties only", chain_text(8, "ready"), "counters"},
      {"an order as a hint", chain_text(8, "ready by one_f_one_b"), "counters"},
      {"V", v_text(8, true), "counters"},
      {"1f1b, one count", chain_text(8, "in order one_f_one_b", "64"), "graph"},
      {"1f1b, a range", chain_text(8, "in order one_f_one_b", "3 .. 64"), "cuts"},
      {"a join in sequence", join_text(true, "any", 2), "counters"},
  };
  for (const Proved& row : rows) {
    const Program program = compiled(row.text);
    const Verdict verdict = verify(program, kFew);
    EXPECT_EQ(verdict.outcome, Outcome::proved) << row.name << "\n" << summary(verdict);
    ASSERT_TRUE(verdict.proved) << row.name;
    EXPECT_EQ(name_of(find(verdict, "deadlock").method), row.method) << row.name;
    EXPECT_FALSE(verdict.assumptions.empty());
    EXPECT_EQ(verdict.proved->program().hash, program.hash);
    EXPECT_EQ(verdict.proved->peaks().size(), program.pools.size());
  }
}

TEST(Verify, lists_all_five_obligations_in_order) {
  std::vector<std::string> names;
  for (const Obligation& o : verify(compiled(chain_text(2, "ready by bf"))).obligations) {
    names.push_back(name_of(o.kind));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"deadlock", "collectives", "messages", "memory", "once"}));
}

using Peaks = std::vector<std::optional<std::int64_t>>;

TEST(Verify, proves_the_least_peaks) {
  const auto peaks = [](const std::string& text) {
    return testing_support::peaks_of(verify(compiled(text)), "activation");
  };
  EXPECT_EQ(peaks(chain_text(4, "ready by bf")), (Peaks{4, 3, 2, 1}));
  EXPECT_EQ(peaks(chain_text(4, "in order one_f_one_b", "any", "")), (Peaks{4, 3, 2, 1}));
  EXPECT_EQ(peaks(chain_text(4, "in order one_f_one_b", "2", "")), (Peaks{2, 2, 2, 1}));
  EXPECT_EQ(peaks(chain_text(2, "in order gpipe", "any", "")), (Peaks{std::nullopt, std::nullopt}));
  EXPECT_EQ(peaks(chain_text(2, "in order gpipe", "3 .. 7", "")), (Peaks{7, 7}));
  EXPECT_EQ(peaks(chain_text(2, "ready by bf", "any", "")), (Peaks{std::nullopt, std::nullopt}));
  EXPECT_EQ(peaks(chain_text(2, "ready by bf", "1 .. 5", "")), (Peaks{5, 5}));
  EXPECT_EQ(peaks(v_text(4, true)), (Peaks{8, 8, 8, 8}));
}

TEST(Verify, refutes_the_v_without_reservation_with_twice_as_many_microbatches_as_ranks) {
  for (const int ranks : {4, 8}) {
    const Program program = compiled(v_text(ranks, false));
    const Verdict verdict = verify(program);
    EXPECT_EQ(verdict.outcome, Outcome::refuted);
    EXPECT_FALSE(verdict.proved);
    const Obligation& deadlock = find(verdict, "deadlock");
    ASSERT_TRUE(deadlock.counterexample) << summary(verdict);
    EXPECT_EQ(deadlock.counterexample->microbatches, 2 * ranks);
    EXPECT_TRUE(deadlock.counterexample->fewest);
    expect_replays_stuck(program, *deadlock.counterexample);
  }
}

TEST(Verify, refutes_an_order_that_waits_for_itself) {
  for (const char* count : {"any", "3"}) {
    const Program program = compiled(chain_text(4, "in order waits", count));
    const Verdict verdict = verify(program);
    const Obligation& deadlock = find(verdict, "deadlock");
    EXPECT_EQ(deadlock.outcome, Outcome::refuted) << summary(verdict);
    EXPECT_EQ(deadlock.reason, "A circle: 0B0 needs 0F0, and 0F0 comes after 0B0 on rank 0.");
    ASSERT_TRUE(deadlock.counterexample);
    expect_replays_stuck(program, *deadlock.counterexample);
    EXPECT_EQ(find(verdict, "once").outcome, Outcome::proved);
  }
}

TEST(Verify, tells_a_circle_through_a_hand_over) {
  const Program program = compiled(labels_text(" via rendezvous"));
  const Obligation deadlock = find(verify(program), "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted);
  EXPECT_EQ(deadlock.method, Method::cuts);
  EXPECT_EQ(deadlock.counterexample->microbatches, 1);
  EXPECT_EQ(deadlock.reason,
            "A circle: 0F0 comes after 0L0 on rank 0, 0L0 waits for 2T0, which takes its message, "
            "2T0 comes after 2F0 on rank 2, 2F0 needs 1F0, and 1F0 needs 0F0.");
  EXPECT_EQ(deadlock.counterexample->waits.front().text, "the engine, which hands over 0L0 to 2T0");
  expect_replays_stuck(program, *deadlock.counterexample);
  const Verdict buffered = verify(compiled(labels_text("")));
  EXPECT_EQ(buffered.outcome, Outcome::proved);
  EXPECT_EQ(find(buffered, "deadlock").method, Method::cuts);
}

TEST(Verify, refutes_a_recompute_that_forwards_leave_no_room) {
  const Program program = compiled(recompute_text(""));
  const Obligation deadlock = find(verify(program), "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted);
  EXPECT_EQ(deadlock.counterexample->microbatches, 4);
  expect_replays_stuck(program, *deadlock.counterexample);
  EXPECT_EQ(verify(compiled(recompute_text(" leaving 3"))).outcome, Outcome::proved);
}

// A V on 2 ranks; only its backwards are sequential. Choices that the dispatch does not make
// deadlock with 4 microbatches; soon after that, the rest of the range is left open.
TEST(Verify, leaves_the_rest_of_a_long_range_open_once_other_choices_deadlock) {
  const Program program = compiled(R"(pipeline p {
  microbatches 1 .. 40;
  stages 4;  place s on s < 2 ? s : 3 - s;
  op F forward { needs F at prev;  acquires a 3; }
  op B backward sequential { needs F at here, B at next;  releases a 3; }
  resource a per stage { capacity 11; }
  hint h { rounds B, F; }
  dispatch ready by h;
}
)");
  const Obligation deadlock = find(verify(program), "deadlock");
  EXPECT_EQ(deadlock.outcome, Outcome::unknown);
  EXPECT_EQ(deadlock.method, Method::states);
  ASSERT_TRUE(deadlock.other_choices);
  EXPECT_EQ(deadlock.other_choices->microbatches, 4);
}

TEST(Verify, refutes_an_order_without_the_room_it_takes) {
  const Program program = compiled(chain_text(4, "in order gpipe", "any"));
  const Verdict verdict = verify(program);
  const Obligation& deadlock = find(verdict, "deadlock");
  ASSERT_EQ(deadlock.outcome, Outcome::refuted) << summary(verdict);
  EXPECT_EQ(deadlock.counterexample->microbatches, 2);
  expect_replays_stuck(program, *deadlock.counterexample);
}

TEST(Verify, refutes_once_with_the_task_that_is_missing) {
  const Verdict verdict = verify(compiled(chain_text(2, "in order short", "2 .. 9", "")));
  const Obligation& once = find(verdict, "once");
  EXPECT_EQ(once.outcome, Outcome::refuted) << summary(verdict);
  ASSERT_TRUE(once.counterexample);
  EXPECT_EQ(once.counterexample->microbatches, 2);
  EXPECT_EQ(once.reason, "0B1 is missing, with 2 microbatches.");
  EXPECT_EQ(find(verdict, "messages").outcome, Outcome::unknown);
}

TEST(Verify, refutes_a_bound_with_a_run_whose_last_start_exceeds_it) {
  struct Row {
    std::string dispatch;
    std::string reason;
    int microbatches;
  };
  const std::vector<Row> rows = {
      {"ready by bf", "activation of stage 0 holds 3 once 0F2 starts, above the asserted 2.", 3},
      {"in order one_f_one_b",
       "activation of stage 0 holds 3 once 0F2 starts, above the asserted 2.", 3},
  };
  for (const Row& row : rows) {
    std::string text = chain_text(4, row.dispatch);
    text.insert(text.rfind("}\n"), "  assert peak activation <= 2;\n");
    const Program program = compiled(text);
    const Verdict verdict = verify(program);
    const Obligation& memory = find(verdict, "memory");
    ASSERT_EQ(memory.outcome, Outcome::refuted) << summary(verdict);
    EXPECT_EQ(memory.reason, row.reason);
    EXPECT_EQ(memory.counterexample->microbatches, row.microbatches);
    const Machine machine(program, row.microbatches);
    Machine::State state = machine.initial();
    for (const spec::Event& event : memory.counterexample->events) {
      ASSERT_TRUE(machine.is_enabled(state, event, Machine::Chooser::dispatch));
      machine.step(state, event);
    }
    EXPECT_EQ(*std::max_element(state.held.begin(), state.held.end()), 3);
    EXPECT_EQ(find(verdict, "deadlock").outcome, Outcome::proved);
  }
}

TEST(Verify, proves_a_bound_that_depends_on_the_instance_and_the_count) {
  std::string text = chain_text(4, "ready by bf");
  text.insert(text.rfind("}\n"), "  assert peak activation <= min(4 - s, microbatches);\n");
  const Verdict verdict = verify(compiled(text));
  EXPECT_EQ(verdict.outcome, Outcome::proved) << summary(verdict);
}

// Such a bound is evaluated for only a few counts when a program is read. An order that is not
// linear is judged count by count.
TEST(Verify, a_bound_without_a_value_for_some_count_proves_nothing) {
  const std::string order =
      "pipeline p {\n"
      "  microbatches 1 .. 90;\n"
      "  stages 2;\n"
      "  place s on s;\n"
      "  op F forward { needs F at prev; acquires a; }\n"
      "  op B backward { needs F at here, B at next; releases a; }\n"
      "  resource a per stage { }\n"
      "  order o on r { F * (microbatches * microbatches div microbatches); B * microbatches; }\n"
      "  dispatch in order o;\n"
      "  assert peak a <= (microbatches > 70 ? 3 / 2 : 70);\n"
      "}\n";
  const Verdict verdict = verify(compiled(order));
  EXPECT_EQ(find(verdict, "memory").outcome, Outcome::unknown) << summary(verdict);
  EXPECT_EQ(find(verdict, "memory").reason, "The bound has no integer value with 71 microbatches.");
  EXPECT_FALSE(verdict.proved);
}

TEST(Verify, a_run_of_more_microbatches_than_are_counted_is_not_searched_for) {
  std::string text = v_text(2, false, "any");
  const std::string capacity = "capacity 2 * ranks";
  text.replace(text.find(capacity), capacity.size(), "capacity 3000000000");
  const Verdict verdict = verify(compiled(text));
  EXPECT_EQ(find(verdict, "once").outcome, Outcome::proved) << summary(verdict);
  EXPECT_THAT(find(verdict, "deadlock").reason, testing::HasSubstr("so many are not searched"));
}

TEST(Verify, a_construct_that_is_not_supported_is_unknown_and_named) {
  std::string text = chain_text(2, "ready by bf");
  const std::string hint = "hint bf {";
  text.replace(text.find(hint), hint.size(),
               "pair F, B; tensor_parallel 2 { agree by intersection; } hint bf {");
  const Program program = compiled(text);
  const Verdict verdict = verify(program);
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_FALSE(verdict.proved);
  for (const Obligation& o : verdict.obligations) {
    EXPECT_EQ(o.outcome, Outcome::unknown) << name_of(o.kind);
    EXPECT_NE(o.reason.find("pair"), std::string::npos) << o.reason;
    EXPECT_EQ(spec::position_of({"test.ripe", text}, o.span.begin).line, 16);
  }
}

TEST(Verify, a_join_that_counts_cannot_follow_is_unknown_for_every_count_and_named) {
  const Verdict verdict = verify(compiled(join_text(false, "any", 2)));
  const Obligation& deadlock = find(verdict, "deadlock");
  // With 4 microbatches, vision may fill its room with two of them and text its room with the other
  // two; only the hint's ties choose the lowest microbatch.
  EXPECT_EQ(deadlock.outcome, Outcome::unknown) << summary(verdict);
  ASSERT_TRUE(deadlock.other_choices) << summary(verdict);
  EXPECT_EQ(deadlock.other_choices->microbatches, 4);
  EXPECT_FALSE(verdict.proved);
}

TEST(Verify, a_join_is_settled_for_few_microbatches) {
  EXPECT_EQ(verify(compiled(join_text(false, "1 .. 3", 2))).outcome, Outcome::proved);
}

TEST(Verify, the_same_program_gets_the_same_verdict) {
  const Program program = compiled(v_text(4, false));
  const Verdict first = verify(program);
  const Verdict second = verify(program);
  EXPECT_EQ(find(first, "deadlock").counterexample->events,
            find(second, "deadlock").counterexample->events);
}

// Each of these shares repeats soon, but all together repeat only after 96 microbatches. Counting
// by classes of microbatches does not cover so many, and 90 F deadlock.
TEST(Verify, shares_that_repeat_together_late_are_not_counted) {
  for (const char* periods : {"3 32 96", "40 60 120"}) {
    int first = 0;
    int second = 0;
    int count = 0;
    std::istringstream(periods) >> first >> second >> count;
    const Program program =
        compiled(fmt::format("pipeline late {{ microbatches {}; stages 1; place s on 0;\n"
                             "  op F forward {{ acquires a; }}\n"
                             "  op P user \"p\" on m where m % {} == 0 {{ needs F at here; }}\n"
                             "  op Q user \"q\" on m where m % {} == 0 {{ needs F at here; }}\n"
                             "  resource a per rank {{ capacity 90; }} dispatch ready; }}",
                             count, first, second));
    EXPECT_EQ(verify(program).outcome, Outcome::unknown) << periods;
  }
}

TEST(Verify, without_solver_steps_nothing_is_proved) {
  const Verdict verdict =
      verify(compiled(v_text(8, true)), {.solver_steps = 100, .search_states = 1'000});
  EXPECT_EQ(verdict.outcome, Outcome::unknown) << summary(verdict);
}

// --- report ---

TEST(Report, draws_a_stuck_run_with_the_blocked_tasks_marked) {
  const std::string text = v_text(2, false);
  const Program program = compiled(text);
  const std::string report = report_text(program, {"v.ripe", text}, verify(program));
  EXPECT_NE(report.find("refuted: deadlock, with 4 microbatches (the fewest)"), std::string::npos)
      << report;
  EXPECT_NE(report.find("v.ripe:9"), std::string::npos) << report;
  // The solver's version determines which of the smallest stuck states is shown.
  EXPECT_THAT(report, testing::ContainsRegex("  rank 0   0F0 0F1 .*\n  rank 1   1F0 "));
  EXPECT_THAT(report, testing::ContainsRegex("  >[0-9]F[0-9]\n"));
  EXPECT_THAT(report,
              testing::ContainsRegex("activation of rank [01] is taken: 4 of 4.* needs 1; only "));
  EXPECT_THAT(report, testing::HasSubstr(" waits for room in activation of rank "));
  EXPECT_NE(report.find("assuming:"), std::string::npos) << report;
}

TEST(Report, json_has_what_programs_rely_on_and_its_run_reads_back) {
  const std::string text = v_text(2, false);
  const Program program = compiled(text);
  const Verdict verdict = verify(program);
  const nlohmann::json json = report_json(program, {"v.ripe", text}, verdict);
  for (const char* field : {"schema", "program", "params", "hash", "verdict", "microbatches",
                            "obligations", "assumptions", "solver"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["verdict"], "refuted");
  EXPECT_EQ(json["obligations"][0]["name"], "deadlock");
  const auto& events = json["obligations"][0]["counterexample"]["events"];
  const auto arrival =
      std::find_if(events.begin(), events.end(), [](const auto& e) { return e["do"] == "arrive"; });
  ASSERT_NE(arrival, events.end());
  EXPECT_EQ(*arrival,
            (nlohmann::json{{"do", "arrive"}, {"task", "1F0"}, {"need", "0F0"}, {"from", 0}}));
  const auto run = read_run(program, json.dump());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().microbatches, 4);
  EXPECT_EQ(run.value().events, find(verdict, "deadlock").counterexample->events);
  EXPECT_FALSE(read_run(program, "{").ok());
  EXPECT_FALSE(read_run(compiled(v_text(3, false)), json.dump()).ok());
}

}  // namespace
}  // namespace ripeline::verify::verify_test
