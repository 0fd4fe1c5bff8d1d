#include "simulate/interpreter.h"
#include "lower/facts.h"

#include <gtest/gtest.h>

#include "spec/elaborate.h"

namespace ripeline::simulate {
namespace {

spec::Program bf() {
  return spec::compile({"bf.ripe", R"(
pipeline bf {
  microbatches 1 .. 8;
  stages 2;
  place s on s;
  op F forward  { needs F at prev;  acquires activation; }
  op B backward { needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity 2 - s;  unit "MiB"; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)"})
      .value();
}

core::Choice start(core::LaneId lane, int m) {
  return {.kind = core::Choice::Kind::start, .task = {lane, m}, .until = core::Time{0}};
}

TEST(FactsOf, says_what_the_program_has) {
  const spec::Program program = bf();
  const core::OwnedFacts storage = lower::facts_with_bounds_for_testing(program, {2, std::nullopt});
  const core::ProgramFacts& facts = storage.facts();
  EXPECT_EQ(facts.name, "bf");
  EXPECT_EQ(facts.hash, program.hash);
  EXPECT_TRUE(facts.proved);
  EXPECT_EQ(facts.ranks, 2);
  EXPECT_EQ(facts.min_microbatches, 1);
  EXPECT_EQ(facts.max_microbatches, 8);
  ASSERT_EQ(facts.ops.size(), 2U);
  EXPECT_EQ(facts.ops[1].name, "B");
  EXPECT_EQ(facts.ops[1].kind, core::OpKind::backward);
  ASSERT_EQ(facts.lanes.size(), 4U);
  EXPECT_EQ(facts.lanes[3].stage, 1);
  EXPECT_EQ(facts.lanes[3].op, 1);
  EXPECT_EQ(facts.edges.size(), 4U);
  ASSERT_EQ(facts.pools.size(), 2U);
  EXPECT_EQ(facts.pools[0].resource, "activation");
  EXPECT_EQ(facts.pools[0].unit, "MiB");
  EXPECT_EQ(facts.pools[0].bound, 2);
  EXPECT_EQ(facts.pools[1].bound, -1);
  ASSERT_EQ(facts.uses.size(), 4U);
  EXPECT_EQ(facts.uses[1].releases, 1);
  EXPECT_FALSE(lower::facts_of(program).facts().proved);
}

TEST(FactsOf, says_on_what_replicas_agree) {
  const auto facts_of = [](const std::string& dispatch) {
    const std::string text =
        "pipeline p { microbatches 1; stages 2; place s on s; data_parallel 2;\n"
        "  op F forward { needs F at prev; }\n"
        "  op G reduce once on comm { needs F at here of all; }\n"
        "  order o on r { F; G; }\n" +
        dispatch + " }";
    return lower::facts_of(spec::compile({"p.ripe", text}).value());
  };
  const core::OwnedFacts ready = facts_of("dispatch ready;");
  EXPECT_EQ(ready.facts().replicas, 2);
  const auto agreed = ready.facts().reductions;
  EXPECT_EQ(std::vector<core::LaneId>(agreed.begin(), agreed.end()),
            (std::vector<core::LaneId>{1, 3}));
  const core::OwnedFacts in_order = facts_of("dispatch in order o;");
  EXPECT_EQ(in_order.facts().replicas, 2);
  EXPECT_TRUE(in_order.facts().reductions.empty()) << "all keep to the order";
}

TEST(InterpretedArbiter, offers_and_chooses_by_the_program) {
  const spec::Program program = bf();
  const core::OwnedFacts storage = lower::facts_of(program);
  InterpretedArbiter arbiter(program, storage.facts(), 0);
  EXPECT_FALSE(arbiter.choose(core::Engine::compute, nullptr, {}).starts()) << "no step yet";
  EXPECT_EQ(arbiter.begin_step(0, 9).code(), core::StatusCode::invalid);
  ASSERT_TRUE(arbiter.begin_step(0, 3).ok());
  core::TaskSet ready;
  arbiter.ready(core::Engine::compute, ready);
  EXPECT_TRUE(ready.contains({0, 2}));
  EXPECT_FALSE(ready.contains({1, 0}));
  EXPECT_EQ(arbiter.choose(core::Engine::compute, nullptr, {}), start(0, 0));
  EXPECT_EQ(arbiter.choose(core::Engine::copy_in, nullptr, {}), core::Choice{});

  core::TaskSet allowed;
  allowed.reset(0, 2, 3);
  EXPECT_EQ(arbiter.choose(core::Engine::compute, &allowed, {}), core::Choice{});
  allowed.add({0, 1});
  EXPECT_EQ(arbiter.choose(core::Engine::compute, &allowed, {}), start(0, 1));

  arbiter.started({0, 0}, {});
  EXPECT_EQ(arbiter.choose(core::Engine::compute, nullptr, {}), core::Choice{}) << "busy";
  arbiter.on_finished({0, 0}, {});
  arbiter.on_arrived({1, 0}, {});  // the message of 1B0 for 0B0
  allowed.add({1, 0});
  EXPECT_EQ(arbiter.choose(core::Engine::compute, &allowed, {}), start(1, 0)) << "B after F";
  arbiter.started({0, 1}, {});
  arbiter.on_finished({0, 1}, {});
  arbiter.ready(core::Engine::compute, ready);
  EXPECT_TRUE(ready.row(0).empty()) << "no room for a third";
  EXPECT_TRUE(ready.contains({1, 0}));
}

TEST(InterpretedArbiter, commits_to_an_order) {
  const spec::Program program = spec::compile({"o.ripe", R"(
pipeline o {
  microbatches any;
  stages 1;
  place s on s;
  op F forward  { }
  op B backward { needs F at here; }
  order o on r { F * microbatches;  B * microbatches; }
  dispatch in order o;
}
)"})
                                    .value();
  const core::OwnedFacts storage = lower::facts_of(program);
  InterpretedArbiter arbiter(program, storage.facts(), 0);
  ASSERT_TRUE(arbiter.begin_step(0, 2).ok());
  for (const core::Task task : {core::Task{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    core::TaskSet ready;
    arbiter.ready(core::Engine::compute, ready);
    core::TaskSet expected;
    expected.reset(0, 2, 2);
    expected.add(task);
    EXPECT_EQ(ready, expected);
    EXPECT_EQ(arbiter.choose(core::Engine::compute, nullptr, {}),
              start(task.lane, task.microbatch));
    arbiter.started(task, {});
    arbiter.on_finished(task, {});
  }
  EXPECT_EQ(arbiter.choose(core::Engine::compute, nullptr, {}), core::Choice{});
}

}  // namespace
}  // namespace ripeline::simulate
