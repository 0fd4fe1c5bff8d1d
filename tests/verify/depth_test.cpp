// Tests -D ranks=any: the proofs for every number of ranks, and the reasons if there is no proof.
#include "verify/depth/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "spec/parse.h"
#include "verify/depth/agreement.h"
#include "verify/depth/order_depth.h"
#include "verify/depth/ready_depth.h"

namespace ripeline::verify::depth_test {
namespace {

using testing::HasSubstr;

spec::ast::Pipeline parsed(const std::string& text) {
  auto tree = spec::parse({"test.ripe", text});
  EXPECT_TRUE(tree.ok()) << spec::render({"test.ripe", text}, tree.errors());
  return std::move(tree).value();
}

// Each obligation without a proof, with its reason; or `proved from` a number of ranks.
std::string verdict_text(const spec::Result<DepthVerdict>& found) {
  if (!found.ok()) return "error " + found.errors().front().id;
  const Verdict& verdict = found.value().verdict;
  EXPECT_EQ(verdict.obligations.size(), 5u);
  EXPECT_FALSE(verdict.proved);
  std::string text;
  for (const Obligation& o : verdict.obligations) {
    EXPECT_NE(o.outcome, Outcome::refuted);
    if (o.outcome != Outcome::proved) text += name_of(o.kind) + ": " + o.reason + "\n";
  }
  EXPECT_EQ(text.empty(), verdict.outcome == Outcome::proved);
  if (!text.empty()) return text;
  return "proved from " + std::to_string(verdict.every_rank_from.value_or(-1));
}

std::string verdict_text(const std::string& text) {
  const spec::Source source{"test.ripe", text};
  return verdict_text(judge_every_depth(parsed(text), source, {}, VerifyOptions{}.solver_steps));
}

struct Parts {
  std::string stages = "ranks";
  std::string place = "s";
  std::string forward = "needs F at prev;  acquires a;";
  std::string backward = "needs F at here, B at next;  releases a;";
  std::string resource = "per stage { capacity ranks - s; }";
  std::string rest = "dispatch ready;";
  std::string microbatches = "any";
};

std::string program(const Parts& parts) {
  return "pipeline test {\n  param ranks = 4;\n  microbatches " + parts.microbatches +
         ";\n  stages " + parts.stages + ";\n  place s on " + parts.place + ";\n  op F { " +
         parts.forward + " }\n  op B { " + parts.backward + " }\n  resource a " + parts.resource +
         "\n  " + parts.rest + "\n}\n";
}

const char* const kLeaving = "needs F at prev;  acquires a leaving chunks - 1 - chunk;";
// Rank 0 waits for its first B before it runs its second F; but rank 1 waits for this F.
const char* const kInverted =
    "order o on r { let w = min(r, microbatches);  F * w;  (F B) * (microbatches - w);  B * w; }  "
    "dispatch in order o;";
const char* const kV = "s < ranks ? s : 2 * ranks - 1 - s";

// If a program commits to an order with streams, it is not proved for every number of ranks.
bool commits_to_streams(std::string_view text) {
  return text.find("stream ") != std::string_view::npos &&
         text.find("dispatch in order") != std::string_view::npos;
}

TEST(EveryDepth, library_schedules_are_proved) {
  for (const auto& entry : spec::library()) {
    const std::string name(entry.name);
    const std::string said = verdict_text(std::string(*spec::library_text(name)));
    if (commits_to_streams(entry.text)) {
      EXPECT_THAT(said, HasSubstr("` is not handled for every number of ranks."));
    } else {
      EXPECT_EQ(said, "proved from 1") << name;
    }
  }
}

TEST(EveryDepth, proved) {
  const std::vector<std::pair<std::string, Parts>> cases = {
      {"a window", {.resource = "per stage { capacity 1; }"}},
      {"no capacity", {.resource = "per stage { }"}},
      {"a window that shrinks", {.resource = "per stage { capacity ceil((ranks - s) / 2); }"}},
      {"stages that differ", {.resource = "per stage { capacity s % 2 + 1; }"}},
      {"a loop, reserved",
       {.stages = "3 * ranks",
        .place = "s % ranks",
        .forward = kLeaving,
        .resource = "per rank { capacity 3; }"}},
      {"a loop of windows",
       {.stages = "ranks * 2", .place = "s % ranks", .resource = "per stage { capacity 1; }"}},
      {"a V, reserved",
       {.stages = "2 * ranks",
        .place = kV,
        .forward = kLeaving,
        .resource = "per rank { capacity 2; }"}},
      {"amounts",
       {.forward = "needs F at prev;  acquires a 3;",
        .backward = "needs F at here, B at next;  releases a;  releases a 2;",
        .resource = "per stage { capacity 4; }"}},
      {"a bound below the capacity",
       {.resource = "per stage { capacity 2 * ranks; }",
        .rest = "assert peak a <= microbatches;  dispatch ready;"}},
      {"a range", {.rest = "dispatch ready;", .microbatches = "ranks .. 2 * ranks"}},
      {"a slot", {.forward = "needs F at prev via slots 1;  acquires a;"}},
      {"slots both ways",
       {.forward = "needs F at prev via slots 2;  acquires a;",
        .backward = "needs F at here, B at next via slots ranks;  releases a;"}},
      {"a committed order",
       {.resource = "per stage { }",
        .rest = "order o on r { F * microbatches;  B * microbatches; }  dispatch in order o;"}},
  };
  for (const auto& [name, parts] : cases) {
    EXPECT_EQ(verdict_text(program(parts)), "proved from 1") << name;
  }
  EXPECT_EQ(verdict_text(program({.resource = "per stage { capacity max(1, ranks - 1); }",
                                  .rest = "assert peak a <= ranks - 1;  dispatch ready;"})),
            "memory: It is refuted with 1 rank: `-D ranks=1` shows the run.\n");
  EXPECT_EQ(verdict_text(program({.resource = "per stage { capacity ranks - 1; }"})),
            "proved from 2");
}

TEST(EveryDepth, what_is_not_proved_says_where_it_fails) {
  struct Case {
    std::string name;
    Parts parts;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"a greedy loop",
       {.stages = "2 * ranks",
        .place = "s % ranks",
        .resource = "per rank { capacity 2 * ranks; }"},
       "deadlock: It is refuted with 2 ranks"},
      {"a greedy V",
       {.stages = "2 * ranks", .place = kV, .resource = "per rank { capacity 2 * ranks; }"},
       "deadlock: It is refuted with 2 ranks"},
      {"an order with the warm-up the other way around",
       {.resource = "per stage { }", .rest = kInverted},
       "deadlock: It is refuted with 2 ranks"},
      {"a bound that large depths exceed",
       {.rest = "assert peak a <= 5;  dispatch ready;"},
       "memory: The asserted bound could not be shown to hold for every number of ranks."},
      {"a capacity that is too small at large depths",
       {.forward = "needs F at prev;  acquires a leaving max(0, ranks - 8);",
        .resource = "per stage { capacity 1; }"},
       "deadlock: That what F needs exists and what it acquires fits could not be shown"},
      {"blocks of stages",
       {.stages = "2 * ranks", .place = "s div 2", .resource = "per stage { capacity 1; }"},
       "The placement `s div 2` does not run up or down all ranks"},
      {"a fixed number of stages",
       {.stages = "4", .place = "s % ranks", .resource = "per stage { }"},
       "With 5 ranks it is no program: ranks is 5"},
      {"stages that are no multiple",
       {.stages = "ranks + max(0, ranks - 9)", .place = "s % ranks"},
       "The number of stages `ranks + max(0, ranks - 9)` is not a fixed multiple"},
      {"an amount that varies",
       {.forward = "needs F at prev;  acquires a ranks;",
        .backward = "needs F at here, B at next;  releases a ranks;",
        .resource = "per stage { capacity 2 * ranks; }"},
       "The amount `ranks` is not the same at every rank and depth."},
      {"a capacity that is not linear",
       {.resource = "per stage { capacity ranks * ranks; }"},
       "`ranks * ranks` is not linear in the rank, the number of ranks and the microbatches."},
      {"a program at some depths only",
       {.resource = "per stage { capacity ranks / 2; }"},
       "With 3 ranks it is no program: 3/2 is no integer"},
      {"a channel",
       {.forward = "needs F at prev via inbox;  acquires a;",
        .rest = "channel inbox per stage { slots 2; }  dispatch ready;"},
       "`via inbox` is not handled for every number of ranks."},
      {"slots shared by a join",
       {.backward =
            "needs F at here, B at next;  releases a; }  op C { needs F at prev via slots 1, "
            "B at next via slots 1;"},
       "may wait for one message while others have the slots of its link"},
      {"a sequential consumer",
       {.backward =
            "needs F at here, B at next;  releases a; }  op C sequential { needs F at here;"},
       "C is sequential and F is not"},
      {"replicas", {.rest = "data_parallel 2;  dispatch ready;"}, "`data_parallel`"},
      {"a stage by its number",
       {.rest = "op D { needs F at (0); }  dispatch ready;"},
       "`needs at a stage`"},
      {"once", {.rest = "op G once { needs B at here of all; }  dispatch ready;"}, "`once`"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(verdict_text(program(c.parts)), HasSubstr(c.says)) << c.name;
  }
}

TEST(EveryDepth, a_program_without_the_param_is_bad_input) {
  const std::string text = program({});
  EXPECT_EQ(
      verdict_text(text.substr(0, text.find("  param")) +
                   "  microbatches any;  stages 4;  place s on s;  op F { }  dispatch ready;\n}\n"),
      "error define-unknown-param");
}

// A proof for every number of ranks must be true for each number. The two judges share the shapes
// of guards, but not the way in which these are read and queried.
TEST(EveryDepth, each_library_schedule_is_proved_at_each_small_depth) {
  for (const auto& entry : spec::library()) {
    const spec::Source source{std::string(entry.name), *spec::library_text(entry.name)};
    if (commits_to_streams(entry.text)) continue;
    for (int ranks = 1; ranks <= 8; ++ranks) {
      const auto one = spec::compile(source, {.defines = {{"ranks", ranks}}, .dispatch = ""});
      ASSERT_TRUE(one.ok());
      EXPECT_EQ(verify(one.value()).outcome, Outcome::proved) << entry.name << " " << ranks;
    }
  }
}

// --- the queries alone, without the comparison with small depths ---

depth::Shape shape_of(const std::string& text) {
  const spec::Source source{"test.ripe", text};
  const auto tree = parsed(text);
  const auto sample = spec::elaborate(tree, source, {.defines = {{"ranks", 1}}, .dispatch = ""});
  EXPECT_TRUE(sample.ok()) << spec::render(source, sample.errors());
  auto shape = depth::read_shape(tree, {}, sample.value(), 50'000'000);
  EXPECT_TRUE(std::holds_alternative<depth::Shape>(shape));
  return std::get<depth::Shape>(std::move(shape));
}

// A mistake that an encoder could make, applied to the shape or the invariant.
struct Mistake {
  std::function<void(depth::Shape&)> shape = {};
  depth::ReadyDepth::MoreFacts facts = {};
};

std::string asked(const std::string& text, const Mistake& mistake) {
  depth::Shape shape = shape_of(text);
  if (mistake.shape) mistake.shape(shape);
  const auto said = [](const Finding& finding) { return name_of(finding.outcome) + " "; };
  constexpr std::uint64_t kSteps = 3'000'000;
  if (shape.in_order) {
    depth::OrderDepth judge(shape, kSteps);
    return said(judge.once()) + said(judge.deadlock()) + said(judge.memory().finding);
  }
  depth::ReadyDepth judge(shape, kSteps, mistake.facts);
  return said(judge.deadlock()) + said(judge.memory().finding);
}

template <class Change>
Mistake in_each_chunk(const Change& change) {
  return {.shape = [change](depth::Shape& shape) {
    for (depth::ShapeOp& op : shape.ops) {
      for (depth::OpAtChunk& here : op.chunks) change(here);
    }
  }};
}

template <class Change>
Mistake in_each_repeat(const Change& change) {
  return {.shape = [change](depth::Shape& shape) {
    for (depth::ShapeRepeat& repeat : shape.order) change(repeat.positions);
  }};
}

spec::Expr one_more(const spec::Expr& than) {
  return spec::Expr::binary("+", than, spec::Expr::number(1));
}

TEST(EveryDepth, each_mistake_in_the_questions_is_noticed) {
  const std::string window = program({.rest = "assert peak a <= ranks - s;  dispatch ready;"});
  const std::string greedy = program(
      {.stages = "2 * ranks", .place = "s % ranks", .resource = "per rank { capacity 2; }"});
  const std::string reserved = program({.stages = "2 * ranks",
                                        .place = kV,
                                        .forward = kLeaving,
                                        .resource = "per rank { capacity 2; }"});
  const std::string tight = program({.rest = "assert peak a <= ranks - s - 1;  dispatch ready;"});
  const std::string one_f_one_b(*spec::library_text("1f1b"));
  const std::string inverted = program({.resource = "per stage { }", .rest = kInverted});
  const std::string crowded =
      program({.rest = "order o on r { F * microbatches;  B * microbatches; }  "
                       "dispatch in order o;"});
  const Mistake dropped_room{.shape = [](depth::Shape& shape) {
    for (depth::ShapeResource& r : shape.resources) {
      for (auto& capacity : r.capacity) capacity.reset();
    }
  }};
  const Mistake dropped_need{.shape = [](depth::Shape& shape) {
    for (depth::ShapeOp& op : shape.ops) {
      if (!op.needs.empty()) op.needs.pop_back();
    }
  }};
  const Mistake larger_capacity{.shape = [](depth::Shape& shape) {
    for (depth::ShapeResource& r : shape.resources) {
      for (auto& capacity : r.capacity) {
        if (capacity) capacity = one_more(*capacity);
      }
    }
  }};
  const Mistake larger_bound{.shape = [](depth::Shape& shape) {
    for (depth::ShapeAssertion& assertion : shape.assertions) {
      for (spec::Expr& bound : assertion.bound) bound = one_more(bound);
    }
  }};
  const Mistake missing_release =
      in_each_chunk([](depth::OpAtChunk& here) { here.releases.clear(); });
  const Mistake ignored_leaving = in_each_chunk([](depth::OpAtChunk& here) {
    for (depth::Use& use : here.acquires) use.leaving = spec::Expr::number(0);
  });
  // The invariant claims that one unit of the capacity, ranks - r, is free, but it may be in use.
  const Mistake assumed_room{.facts = [](depth::DepthTerms& terms, Term rank) {
    const Term most = terms.ranks() - rank - terms.solver().number(1);
    return std::vector<Term>{terms.implies(terms.in_range(rank), terms.held(0, 0, rank) <= most)};
  }};
  const Mistake blocked_lane{.shape = [](depth::Shape& shape) {
    const int none = size_of(shape.resources);
    shape.resources.push_back({"none", false, {spec::Expr::number(0)}});
    shape.ops.back().chunks.front().acquires.push_back({none, 1});
  }};
  using Positions = std::vector<PositionInTurn>;
  const Mistake place_forgotten =
      in_each_repeat([](Positions& positions) { positions.pop_back(); });
  const Mistake counts_ahead = in_each_repeat([](Positions& positions) {
    for (PositionInTurn& position : positions) ++position.passed;
  });
  const std::vector<std::tuple<std::string, Mistake, std::string, std::string>> mutants = {
      {"a dropped guard: room", dropped_room, greedy, "unknown proved "},
      {"a dropped guard: need", dropped_need, inverted, "proved unknown proved "},
      {"a missing release", missing_release, window, "proved proved "},
      {"leaving ignored", ignored_leaving, reserved, "proved proved "},
      {"an invariant that need not hold", assumed_room, window, "proved proved "},
      {"a lane that is taken for blocked", blocked_lane, window, "proved proved "},
      {"a capacity one too large", larger_capacity, window, "proved proved "},
      {"a bound one too large", larger_bound, tight, "proved unknown "},
      {"a bound one too large, of an order", larger_bound,
       one_f_one_b.substr(0, one_f_one_b.rfind("ranks - s")) + "ranks - s - 1;\n}\n",
       "proved proved unknown "},
      {"a place that is not looked at", place_forgotten, inverted, "proved unknown proved "},
      {"an order that counts its next task", counts_ahead, one_f_one_b, "proved proved proved "},
      {"an order without guards for room", dropped_room, crowded, "proved unknown proved "},
  };
  for (const auto& [name, mistake, text, right] : mutants) {
    EXPECT_EQ(asked(text, {}), right) << name;
    EXPECT_NE(asked(text, mistake), right) << name << " is not noticed";
  }
}

TEST(EveryDepth, a_reading_that_means_something_else_is_noticed) {
  const std::string text = program({});
  const spec::Source source{"test.ripe", text};
  const auto sample =
      spec::elaborate(parsed(text), source, {.defines = {{"ranks", 3}}, .dispatch = ""});
  ASSERT_TRUE(sample.ok());
  const depth::Shape right = shape_of(text);
  const auto differs = [&](const depth::Shape& shape) {
    return depth::disagreement(shape, sample.value(), 10'000'000).has_value();
  };
  EXPECT_FALSE(differs(right));
  depth::Shape shape = right;
  shape.resources[0].capacity[0] = spec::Expr::name("ranks");
  EXPECT_TRUE(differs(shape)) << "a capacity";
  shape = right;
  shape.runs[0] = depth::Direction::down;
  EXPECT_TRUE(differs(shape)) << "the direction of the stages";
  shape = right;
  shape.ops[1].needs.pop_back();
  EXPECT_TRUE(differs(shape)) << "a need";
  shape = right;
  shape.ops[0].chunks[0].acquires[0].amount = 2;
  EXPECT_TRUE(differs(shape)) << "an amount";
  shape = right;
  shape.ops[0].chunks[0].acquires[0].leaving = spec::Expr::number(1);
  EXPECT_TRUE(differs(shape)) << "what is left";
  shape = right;
  shape.ops[0].sequential = true;
  EXPECT_TRUE(differs(shape)) << "a sequence";
  shape = right;
  shape.least_microbatches = spec::Expr::number(2);
  EXPECT_TRUE(differs(shape)) << "the range";
  shape = right;
  shape.ops[1].chunks[0].when = spec::Expr::name("r");
  EXPECT_TRUE(differs(shape)) << "where an op exists";
}

}  // namespace
}  // namespace ripeline::verify::depth_test
