// Tests the meaning of programs, by tables of texts and of the lanes, edges, pools and ranges that
// they define.
#include "spec/elaborate.h"
#include "spec/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ripeline::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kChain = R"(pipeline chain {
  param ranks = 2;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward  { cost 1;      needs F at prev;             acquires activation; }
  op B backward { cost 1 / 2;  needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity ranks - s;  unit "MiB"; }
  order one_f_one_b on r {
    let warm = min(ranks - 1 - r, microbatches);
    F * warm;  (F B) * (microbatches - warm);  B * warm;
  }
  hint bf { rounds B, F; }
  dispatch ready by bf;
  assert peak activation <= ranks - s;
})";

constexpr const char* kVee = R"(pipeline vee {
  param ranks = 2;  microbatches 1 .. 8;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward { needs F at prev;  acquires a leaving chunks - 1 - chunk; }
  op I backward input sequential { needs F at here, I at next; }
  op W backward weight when s > 0 { needs I at here; }
  op V when s == 0 { needs I at here;  releases a; }
  resource a per rank { capacity 4; }
  dispatch ready;
})";

// A program with `body` between the clauses that every program needs.
std::string with(const std::string& body) {
  return "pipeline p {\n  stages 2;\n  place s on s;\n" + body + "\n}\n";
}

constexpr const char* kOps =
    "  op F forward { needs F at prev; }\n  op B backward { needs F at here, B at next; }\n";

Program compiled(const std::string& text, const ElaborateOptions& options = {}) {
  const Source source{"test.ripe", text};
  const Result<Program> program = compile(source, options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : render(source, program.errors()));
  return program.ok() ? program.value() : Program{};
}

std::vector<std::string> error_ids(const std::string& text, const ElaborateOptions& options = {}) {
  const Result<Program> program = compile({"test.ripe", text}, options);
  std::vector<std::string> ids;
  if (!program.ok()) {
    for (const Diagnostic& d : program.errors()) ids.push_back(d.id);
  }
  return ids;
}

// Prints one line per lane: name, rank.chunk, needs, +pool:amount,leaving and -pool:amount.
std::string lanes_of(const Program& program) {
  std::string text;
  for (int i = 0; i < static_cast<int>(program.lanes.size()); ++i) {
    const Lane& lane = at(program.lanes, i);
    text += fmt::format("{} {}.{}", program.lane_name(i), lane.rank, lane.chunk);
    for (const int edge : lane.edges) {
      const Edge& e = at(program.edges, edge);
      text += fmt::format(" {}{}", program.lane_name(e.producer),
                          program.crosses_ranks(e) ? " by message" : "");
    }
    for (const Acquire& a : lane.acquires) {
      text += fmt::format(" +{}:{},{}", a.pool, a.amount, a.leaving);
    }
    for (const Release& r : lane.releases) text += fmt::format(" -{}:{}", r.pool, r.amount);
    text += "\n";
  }
  return text;
}

std::vector<std::string> pools_of(const Program& program) {
  std::vector<std::string> pools;
  for (int i = 0; i < static_cast<int>(program.pools.size()); ++i) {
    const auto capacity = at(program.pools, i).capacity;
    pools.push_back(program.pool_name(i) + (capacity ? fmt::format(": {}", *capacity) : ""));
  }
  return pools;
}

std::vector<std::string> unsupported_in(const std::string& text) {
  std::vector<std::string> constructs;
  for (const Unsupported& u : compiled(text).unsupported) constructs.push_back(u.construct);
  return constructs;
}

TEST(Elaborate, makes_the_lanes_of_a_chain) {
  EXPECT_EQ(lanes_of(compiled(kChain)),
            "0F 0.0 +0:1,0\n"
            "0B 0.0 0F 1B by message -0:1\n"
            "1F 1.0 0F by message +1:1,0\n"
            "1B 1.0 1F -1:1\n");
}

TEST(Elaborate, makes_the_lanes_of_a_vee) {
  const Program program = compiled(kVee);
  EXPECT_EQ(lanes_of(program),
            "0F 0.0 +0:1,1\n"
            "0I 0.0 0F 1I by message\n"
            "0V 0.0 0I -0:1\n"
            "3F 0.1 2F by message +0:1,0\n"
            "3I 0.1 3F\n"
            "3W 0.1 3I\n"
            "1F 1.0 0F by message +1:1,1\n"
            "1I 1.0 1F 2I\n"
            "1W 1.0 1I\n"
            "2F 1.1 1F +1:1,0\n"
            "2I 1.1 2F 3I by message\n"
            "2W 1.1 2I\n");
  EXPECT_EQ(program.first_lane(0), 0);
  EXPECT_EQ(program.first_lane(1), 6);
  EXPECT_EQ(program.first_lane(2), 12);
  EXPECT_EQ(program.chunks(1), 2);
  EXPECT_EQ(program.lane_of(0, 3), 3);
  EXPECT_EQ(program.lane_of(2, 0), -1);
  EXPECT_EQ(program.task_name(5, 7), "3W7");
  EXPECT_TRUE(program.lanes[1].sequential);
  EXPECT_EQ(program.ops[1].kind, OpKind::backward_input);
  EXPECT_EQ(program.ops[3].kind, OpKind::plain);
}

TEST(Elaborate, joins_groups_where_the_edges_say) {
  const Program program = compiled(R"(pipeline vlm {
    stages vision 2, text 1, llm 2;  edges vision -> llm, text -> llm;
    place s on s;  microbatches any;
    op F forward { needs F at prev; }
    op B backward { needs F at here, B at next; }
    dispatch ready;
  })");
  EXPECT_THAT(program.stages[3].prev, ElementsAre(1, 2));
  EXPECT_THAT(program.stages[2].next, ElementsAre(3));
  EXPECT_TRUE(program.stages[2].prev.empty());
  EXPECT_EQ(lanes_of(program),
            "0F 0.0\n0B 0.0 0F 1B by message\n"
            "1F 1.0 0F by message\n1B 1.0 1F 3B by message\n"
            "2F 2.0\n2B 2.0 2F 3B by message\n"
            "3F 3.0 1F by message 2F by message\n3B 3.0 3F 4B by message\n"
            "4F 4.0 3F by message\n4B 4.0 4F\n");
}

TEST(Elaborate, makes_a_pool_for_every_stage_or_rank) {
  EXPECT_THAT(pools_of(compiled(kChain)),
              ElementsAre("activation of stage 0: 2", "activation of stage 1: 1"));
  EXPECT_THAT(pools_of(compiled(kVee)), ElementsAre("a of rank 0: 4", "a of rank 1: 4"));
  const Program unbounded = compiled(
      with(std::string(kOps) + "resource a per stage { }  microbatches any;  dispatch ready;"));
  EXPECT_THAT(pools_of(unbounded), ElementsAre("a of stage 0", "a of stage 1"));
}

TEST(Elaborate, adds_up_amounts_and_takes_the_largest_leaving) {
  const Program program = compiled(with(R"(
    microbatches any;  dispatch ready;  resource a per stage { capacity 9; }
    op F { acquires a 2 leaving 3; acquires a s + 1 leaving 1; releases a; releases a; })"));
  EXPECT_EQ(lanes_of(program), "0F 0.0 +0:3,3 -0:2\n1F 1.0 +1:4,3 -1:2\n");
}

TEST(Elaborate, keeps_exact_costs) {
  const Program program = compiled(kChain);
  EXPECT_EQ(program.lanes[1].cost.each, (Rational{1, 2}));
  const Program varying = compiled(with(
      "microbatches any; dispatch ready; op F { cost 3 * input; } op B { cost 0.25 * (s + 1); }"));
  EXPECT_EQ(varying.lanes[0].cost.each, (Rational{3, 1}));  // the mean of `input` is 1
  EXPECT_EQ(varying.lanes[3].cost.each, (Rational{1, 2}));
}

TEST(Elaborate, keeps_costs_of_microbatches) {
  const Program program = compiled(
      with("microbatches any; dispatch ready; op F { cost (m == 0 ? 4 : 1) * (s + 1); } op B { "
           "cost s == 0 ? 2 : m / 3; } op C { cost min(m, 2) * input + input / 2; }"));
  struct Case {
    int lane;
    int microbatch;
    Rational cost;
  };
  for (const Case& c : {Case{0, 0, {4, 1}}, Case{0, 1, {1, 1}}, Case{3, 0, {8, 1}},
                        Case{3, 9, {2, 1}}, Case{4, 2, {2, 3}}, Case{2, 7, {5, 2}}}) {
    EXPECT_EQ(at(program.lanes, c.lane).cost.of(c.microbatch).value(), c.cost)
        << c.lane << ", " << c.microbatch;
  }
  EXPECT_FALSE(program.lanes[1].cost.varies());
  EXPECT_EQ(program.lanes[1].cost.each, (Rational{2, 1}));
  EXPECT_TRUE(program.lanes[4].cost.varies());
}

TEST(Elaborate, reads_the_microbatch_range) {
  const struct {
    const char* text;
    int min;
    std::optional<int> max;
  } cases[] = {{"any", 1, std::nullopt},
               {"8", 8, 8},
               {"2 .. 5", 2, 5},
               {"2 ..< 5", 2, 4},
               {"n + 1 .. 2 * n", 4, 6}};
  for (const auto& c : cases) {
    const Program program = compiled(
        with(std::string(kOps) + "param n = 3; dispatch ready; microbatches " + c.text + ";"));
    EXPECT_EQ(program.microbatches.min, c.min) << c.text;
    EXPECT_EQ(program.microbatches.max, c.max) << c.text;
  }
}

TEST(Elaborate, folds_params_and_defines) {
  const Program program = compiled(kChain, {.defines = {{"ranks", 3}}, .dispatch = ""});
  EXPECT_EQ(program.ranks, 3);
  EXPECT_THAT(program.params, ElementsAre(std::pair<std::string, std::int64_t>("ranks", 3)));
  EXPECT_EQ(print(program.orders[0].lets[0].value), "min(2 - r, microbatches)");
  EXPECT_EQ(print(program.assertions[0].bound), "3 - s");

  const std::string earlier =
      with(std::string(kOps) + "param a = 2; param b = a * a; microbatches b; dispatch ready;");
  EXPECT_EQ(compiled(earlier).microbatches.min, 4);
  EXPECT_EQ(compiled(earlier, {.defines = {{"a", 3}}, .dispatch = ""}).microbatches.min, 9);
  EXPECT_EQ(compiled(earlier, {.defines = {{"b", 3}}, .dispatch = ""}).microbatches.min, 3);
}

TEST(Elaborate, narrows_the_range_to_a_defined_count) {
  const auto defined = [](std::int64_t count) {
    return ElaborateOptions{.defines = {{"microbatches", count}}, .dispatch = ""};
  };
  const Program program = compiled(kVee, defined(3));
  EXPECT_EQ(program.microbatches.min, 3);
  EXPECT_EQ(program.microbatches.max, 3);
  EXPECT_EQ(compiled(kChain, defined(100)).microbatches.min, 100);
  EXPECT_THAT(error_ids(kVee, defined(9)), ElementsAre("define-microbatches"));
  EXPECT_THAT(error_ids(kChain, defined(0)), ElementsAre("define-microbatches"));
  EXPECT_THAT(error_ids(kChain, defined(5'000'000'000)), ElementsAre("define-microbatches"));
}

TEST(Elaborate, refuses_a_define_of_no_param) {
  const ElaborateOptions options{.defines = {{"rank", 3}}, .dispatch = ""};
  const Source source{"chain.ripe", kChain};
  const auto program = compile(source, options);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(render(source, program.errors()),
            "chain.ripe: -D rank=3: error[define-unknown-param]: no param is called 'rank'\n"
            "  params here: ranks. Did you mean ranks?\n");
}

TEST(Elaborate, knows_microbatches_everywhere_where_it_is_one_count) {
  const std::string text = with(
      "microbatches 6; dispatch ready; op F { acquires a; } resource a per stage { capacity "
      "microbatches; }");
  EXPECT_THAT(pools_of(compiled(text)), ElementsAre("a of stage 0: 6", "a of stage 1: 6"));
}

TEST(Elaborate, follows_the_dispatch_as_written_or_given) {
  const auto given = [](const char* dispatch) {
    return compiled(kChain, {.defines = {}, .dispatch = dispatch}).dispatch;
  };
  EXPECT_EQ(given("").hint.rule, Hint::Rule::rounds);
  EXPECT_THAT(given("").hint.places, ElementsAre(HintPlace{.op = 1}, HintPlace{.op = 0}));
  EXPECT_EQ(given("ready").hint.rule, Hint::Rule::none);
  EXPECT_EQ(given("ready by one_f_one_b").hint.rule, Hint::Rule::order);
  EXPECT_EQ(given("ready by one_f_one_b").hint.order, 0);
  EXPECT_FALSE(given("ready by one_f_one_b").in_order);
  EXPECT_TRUE(given("in order one_f_one_b").in_order);
  EXPECT_EQ(given("in order one_f_one_b").order, 0);
  const auto errors = [](const char* dispatch) {
    return error_ids(kChain, {.defines = {}, .dispatch = dispatch});
  };
  EXPECT_THAT(errors("by bf"), ElementsAre("dispatch-option"));
  EXPECT_THAT(errors("ready by fb"), ElementsAre("dispatch-unknown-name"));
  EXPECT_THAT(errors("in order bf"), ElementsAre("dispatch-unknown-order"));
}

TEST(Elaborate, refuses_more_lanes_than_the_options_allow) {
  const auto ids = [](int most) {
    return error_ids(kChain, {.defines = {}, .dispatch = "", .most_lanes = most});
  };
  const int lanes = static_cast<int>(compiled(kChain).lanes.size());
  EXPECT_THAT(ids(lanes), ElementsAre());
  EXPECT_THAT(ids(lanes - 1), ElementsAre("too-many-lanes"));
  EXPECT_THAT(ids(1), ElementsAre("too-many-stages"));
}

TEST(Elaborate, a_dispatch_option_may_keep_room_for_an_order) {
  const Source source{"v.ripe", std::string(*library_text("zb_v"))};
  for (const char* dispatch : {"ready keeping zb_v", "ready by zb_v keeping zb_v"}) {
    const auto program = compile(source, {.defines = {}, .dispatch = dispatch});
    ASSERT_TRUE(program.ok()) << render(source, program.errors());
    EXPECT_EQ(program.value().dispatch.keeps, 0);
    EXPECT_EQ(program.value().dispatch.binding(), 0);
    EXPECT_NE(program.value().hash,
              compile(source, {.defines = {}, .dispatch = "ready by zb_v"}).value().hash);
  }
  for (const char* dispatch : {"keeping zb_v", "ready keeping", "in order zb_v keeping zb_v"}) {
    EXPECT_FALSE(compile(source, {.defines = {}, .dispatch = dispatch}).ok()) << dispatch;
  }
}

TEST(Elaborate, of_a_wrong_dispatch_option_names_the_option_and_no_place) {
  const Source source{"chain.ripe", kChain};
  const auto program = compile(source, {.defines = {}, .dispatch = "in order bf"});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(render(source, program.errors()),
            "chain.ripe: --dispatch \"in order bf\": error[dispatch-unknown-order]: no order is "
            "called 'bf'\n  'bf' is a hint: write `dispatch ready by bf;`\n");
}

TEST(Elaborate, lists_what_no_reader_supports_and_goes_on) {
  const std::string text = with(R"(
    microbatches 1 .. 256;
    tensor_parallel 2 { agree by intersection; }
    channel inbox per stage { slots 8; }
    op F forward sequential { cost input; needs F at prev via fifo 8;  acquires a;  collectives 2; }
    op O offload on copy_out { needs F at here;  releases a; }
    op L reload on copy_in { needs O at here, B at next via inbox;  acquires a; }
    op B backward { needs L at here, B at next via slots 2, B at here of m - 1;  releases a; }
    op G reduce once { needs B at here of all; }
    op R user "rebalance" { }
    resource a per stage { capacity 16; }
    hint rn { follow file; notices; patience 1.5; yield 0.9; fill F; }
    order file from csv "none.csv";
    order fb on r { stream f = for g in 0 ..< microbatches : F; f; }
    pair F, B;
    dispatch ready;)");
  EXPECT_THAT(unsupported_in(text), ElementsAre("pair with tensor_parallel"));
  std::vector<std::string> features;
  for (const Unsupported& u : features_of(compiled(text))) features.push_back(u.construct);
  EXPECT_THAT(features,
              ElementsAre("tensor_parallel", "pair", "engine copy_out", "engine copy_in", "once",
                          "channel", "link slots", "needs of", "needs of all", "link fifo"));
}

std::vector<std::string> shares_in(const std::string& filter) {
  const Program program =
      compiled("pipeline p { microbatches any; stages 4; place s on s; op F on m where " + filter +
               " { } op G { } dispatch ready; }");
  std::vector<std::string> shares;
  for (const Lane& lane : program.lanes) {
    if (lane.op != 0) continue;
    std::string text = std::to_string(lane.stage) + ":";
    for (int k = 0; k < lane.share.size(); ++k) {
      text += (k == 0 ? "" : " ") + std::to_string(lane.share.microbatch(k));
    }
    shares.push_back(text + "/" + std::to_string(lane.share.period));
  }
  return shares;
}

TEST(Elaborate, a_share_of_the_microbatches) {
  EXPECT_THAT(shares_in("s == 0 and m % 2 == 0"), ElementsAre("0:0/2"));
  EXPECT_THAT(shares_in("s == 0 and m % 3 != 1 and m % 2 == 1"), ElementsAre("0:3 5/6"));
  // Shares have the shortest possible period; a share of all microbatches is 0/1.
  EXPECT_THAT(shares_in("s == 0 and (m % 4 == 1 or m % 4 == 3)"), ElementsAre("0:1/2"));
  EXPECT_THAT(shares_in("s == 0 and m % 2 < 2"), ElementsAre("0:0/1"));
  EXPECT_THAT(shares_in("s == 0 and m % 64 == 63"), ElementsAre("0:63/64"));
  // Stages may have different shares; a stage whose share is empty does not have the op.
  EXPECT_THAT(shares_in("m % 2 == s"), ElementsAre("0:0/2", "1:1/2"));
  EXPECT_THAT(shares_in("s > 1"), ElementsAre("2:0/1", "3:0/1"));
  EXPECT_THAT(shares_in("m % (s + 1) == 0"), ElementsAre("0:0/1", "1:0/2", "2:0/3", "3:0/4"));
}

// An order from a file is followed task by task, so there is no next lane for which to wait.
TEST(Elaborate, a_hint_that_waits_follows_no_file) {
  ElaborateOptions options;
  options.read_file = [](const std::string&) { return std::string("0F0,0B0\n1F0,1B0\n"); };
  const Program program = compiled(with(std::string(kOps) + R"(
    microbatches 1;
    order file from csv "one.csv";
    hint rn { follow file; notices; patience 1.5; yield 0.9; fill F; }
    dispatch ready by rn;)"),
                                   options);
  std::vector<std::string> constructs;
  for (const Unsupported& u : program.unsupported) constructs.push_back(u.construct);
  EXPECT_THAT(constructs, ElementsAre("hint notices with an order from a file",
                                      "hint fill with an order from a file"));
}

TEST(Elaborate, who_waits_fills_with_whole_ops) {
  const auto constructs_of = [](const std::string& hint) {
    const auto program = compile({"fill",
                                  "pipeline p { microbatches any; stages 4; place s on s % 2;\n"
                                  "op F forward { needs F at prev; } op W { needs F at here; }\n"
                                  "order o on r { F@0 * microbatches; F@1 * microbatches; }\n"
                                  "hint h { " +
                                      hint + " } dispatch ready by h; }"});
    std::vector<std::string> constructs;
    if (!program.ok()) return std::vector<std::string>{program.errors().front().message};
    for (const Unsupported& u : program.value().unsupported) constructs.push_back(u.construct);
    return constructs;
  };
  EXPECT_THAT(constructs_of("follow o; fill W@1; notices;"),
              ElementsAre("hint notices with fill at one chunk"));
  EXPECT_THAT(constructs_of("follow o; fill W@1;"), ElementsAre());
  EXPECT_THAT(constructs_of("follow o; fill W; notices;"), ElementsAre());
}

TEST(Elaborate, a_hint_that_waits) {
  const auto hint = [](const std::string& clauses) {
    return compiled(with(std::string(kOps) + R"(
      microbatches any;
      order fb on r { (F B) * microbatches; }
      hint h { follow fb; )" +
                         clauses + R"( }
      dispatch ready by h;)"))
        .dispatch.hint.patience;
  };
  EXPECT_FALSE(hint("").has_value());
  EXPECT_EQ(hint("notices;"), (Patience{{3, 2}, {9, 10}, false}));
  EXPECT_EQ(hint("forecasts;"), (Patience{{3, 2}, {9, 10}, true}));
  EXPECT_EQ(hint("forecasts; notices; patience 2.5; yield 1 / 4;"),
            (Patience{{5, 2}, {1, 4}, true}));
}

TEST(Elaborate, ignores_what_the_dispatch_does_not_use) {
  const std::string text = with(std::string(kOps) + R"(
    microbatches any;
    tensor_parallel 1 { agree by none; }
    channel inbox per stage { slots 8; }
    order zb from csv "zb.csv";
    hint rn { follow zb; notices; }
    hint bf { rounds B, F; }
    dispatch ready by bf;)");
  EXPECT_TRUE(unsupported_in(text).empty());
}

TEST(Elaborate, takes_the_producers_at_a_stage_that_is_named) {
  const Program program = compiled(with(R"(
    microbatches any;
    op F forward { needs F at prev; }
    op X user "gradients" once when s == 0 or s == stages - 1 { needs F at here of all; }
    op T user "their sum" once when s == 0 or s == stages - 1 {
      needs X at here, X at (stages - 1 - s);
    }
    dispatch ready;)"));
  const int last = size_of(program.stages) - 1;
  for (const int s : {0, last}) {
    std::vector<int> producers;
    for (const int edge : at(program.lanes, program.lane_of(2, s)).edges) {
      const Edge& e = at(program.edges, edge);
      EXPECT_EQ(at(program.lanes, e.producer).op, 1);
      producers.push_back(at(program.lanes, e.producer).stage);
    }
    EXPECT_THAT(producers, ElementsAre(s, last - s));
  }
}

TEST(Elaborate, knows_what_replicas_wait_for) {
  const auto text = [](const std::string& replicas) {
    return with(std::string(kOps) + R"(
    microbatches any;
    op G reduce once on comm { needs B at here of all; }
    )" + replicas +
                R"(
    dispatch ready;)");
  };
  const Program one = compiled(text(""));
  const Program two = compiled(text("data_parallel 2;"));
  EXPECT_EQ(two.data_parallel.replicas, 2);
  int reductions = 0;
  for (int lane = 0; lane < size_of(two.lanes); ++lane) {
    EXPECT_FALSE(one.reduces(lane)) << "alone, an op `reduce` has nobody to wait for";
    EXPECT_EQ(two.reduces(lane), at(two.lanes, lane).engine == Engine::comm);
    reductions += two.reduces(lane) ? 1 : 0;
  }
  EXPECT_EQ(reductions, size_of(two.stages));
  EXPECT_EQ(one.hash, compiled(text("data_parallel 1;")).hash);
  EXPECT_NE(one.hash, two.hash);
  EXPECT_NE(two.hash, compiled(text("data_parallel 3;")).hash);
  EXPECT_THAT(unsupported_in(with(std::string(kOps) + R"(
    microbatches any;
    data_parallel 2;
    op G reduce once on comm { needs B at here of all; }
    op H reduce once on comm { needs B at here of all; }
    pair G, H;
    dispatch ready;)")),
              ElementsAre("pair of reductions"));
}

TEST(Elaborate, hashes_the_meaning_alone) {
  const std::uint64_t hash = compiled(kChain).hash;
  const auto replaced = [](std::string from, const std::string& to) {
    std::string text = kChain;
    text.replace(text.find(from), from.size(), to);
    return compiled(text).hash;
  };
  EXPECT_EQ(hash, compiled(kChain).hash);
  EXPECT_EQ(hash, replaced("cost 1;", "cost 7;"));
  EXPECT_EQ(hash, replaced("pipeline chain {", "# a comment\npipeline chain {\n\n"));
  EXPECT_EQ(hash, replaced("param ranks = 2;", "param ranks = 2; param unused = 4;"));
  EXPECT_NE(hash, replaced("capacity ranks - s", "capacity ranks"));
  EXPECT_NE(hash, replaced("rounds B, F", "rounds F, B"));
  EXPECT_NE(hash, replaced("needs F at prev;", ""));
  EXPECT_NE(hash, replaced("microbatches any", "microbatches 4"));
  EXPECT_EQ(hash_text(0x1234abcd), "000000001234abcd");
}

TEST(Elaborate, finds_what_a_release_is_ordered_after_through_other_stages) {
  // 0B needs 1C, which needs 1F, which needs 0F, so the room is acquired before it is released.
  const std::string text = with(R"(
    microbatches any;  dispatch ready;  resource a per stage { }
    op F forward { needs F at prev;  acquires a; }
    op C when s == 1 { needs F at here; releases a; }
    op B when s == 0 { needs C at next;  releases a; })");
  EXPECT_EQ(lanes_of(compiled(text)),
            "0F 0.0 +0:1,0\n0B 0.0 1C by message -0:1\n"
            "1F 1.0 0F by message +1:1,0\n1C 1.0 1F -1:1\n");
}

TEST(Elaborate, keeps_ancestors_sorted_and_without_the_lane) {
  const Program program = compiled(kChain);
  EXPECT_THAT(ancestors(program, 1), ElementsAre(0, 2, 3));
  EXPECT_THAT(ancestors(program, 0), ElementsAre());
}

TEST(Elaborate, accepts_sixteen_thousand_ranks) {
  const Program program = compiled(kChain, {.defines = {{"ranks", 16384}}, .dispatch = ""});
  EXPECT_EQ(program.lanes.size(), 32768U);
}

}  // namespace
}  // namespace ripeline::spec
