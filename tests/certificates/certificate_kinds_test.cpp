// Tests certificates of tensor-parallel groups and of every number of ranks: those that verify
// writes are accepted, and false claims are not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "certificates/certificate.h"
#include "certificates/depth_evidence.h"
#include "certificates/recheck.h"
#include "spec/library.h"
#include "spec/parse.h"
#include "tests/support/cvc5.h"
#include "tests/support/programs.h"

namespace ripeline::certificates {
namespace {

using testing_support::ask_cvc5;
using testing_support::group_text;
using verify::Method;
using verify::Obligation;
using verify::ObligationKind;
using verify::Outcome;

constexpr const char* kTwoSlots = "  channel inbox per stage { slots 2; }\n";
constexpr const char* kThreeSlots = "  channel inbox per stage { slots 3; }\n";

std::string said(const RecheckReport& report) {
  std::string text = name_of(report.result) + ":";
  for (const RecheckStep& s : report.steps) {
    if (s.result != RecheckResult::accepted) text += " " + s.name + " " + s.where + " " + s.detail;
  }
  return text;
}

const Obligation& find(const verify::Verdict& verdict, const std::string& name) {
  for (const Obligation& o : verdict.obligations) {
    if (name_of(o.kind) == name) return o;
  }
  return verdict.obligations.front();
}

// --- groups ---

struct Group {
  explicit Group(const std::string& text) : source{"group.ripe", text} {
    auto compiled = spec::compile(source);
    EXPECT_TRUE(compiled.ok()) << text;
    program = std::move(compiled).value();
    verdict = verify::verify(program);
  }
  [[nodiscard]] Files files() const { return certificate_of(source, {}, program, verdict, "0"); }

  spec::Source source;
  spec::Program program;
  verify::Verdict verdict;
};

TEST(CertificateGroup, what_verify_writes_is_accepted_by_each_method) {
  struct Row {
    std::string text;
    Outcome verdict;
    Method deadlock;
    Method collectives;
  };
  std::string in_order = group_text(2, "vote", "");
  in_order.insert(in_order.find("  hint"),
                  "  order all on r { F * microbatches; "
                  "B * microbatches; }\n");
  in_order.replace(in_order.find("ready by bf"), 11, "in order all");
  in_order.replace(in_order.find("ranks - s"), 9, "4");
  in_order.replace(in_order.find("microbatches any"), 16, "microbatches 4");
  const std::string one_choice =
      "pipeline one {\n  microbatches any;\n  stages 2;\n  place s on s;\n"
      "  tensor_parallel 2 { agree by none; }\n"
      "  op F forward sequential { needs F at prev; collectives 1; }\n  dispatch ready;\n}\n";
  for (const Row& row : std::vector<Row>{
           {group_text(3, "intersection", ""), Outcome::proved, Method::counters,
            Method::induction},
           {group_text(3, "vote", ""), Outcome::proved, Method::counters, Method::induction},
           {group_text(3, "leader", ""), Outcome::proved, Method::counters, Method::induction},
           {group_text(3, "vote", "via inbox", "any", kThreeSlots), Outcome::proved,
            Method::counters, Method::induction},
           {group_text(3, "intersection", "via slots 2", "1 .. 3"), Outcome::proved,
            Method::members, Method::induction},
           {in_order, Outcome::proved, Method::graph, Method::structure},
           {one_choice, Outcome::proved, Method::counters, Method::counters},
           {group_text(3, "vote", "via inbox", "any", kTwoSlots), Outcome::refuted, Method::search,
            Method::induction},
           {group_text(3, "leader", "via inbox", "any", kTwoSlots), Outcome::refuted,
            Method::search, Method::induction},
           {group_text(3, "none", ""), Outcome::refuted, Method::search, Method::search},
       }) {
    const Group made(row.text);
    EXPECT_EQ(made.verdict.outcome, row.verdict) << row.text;
    EXPECT_EQ(find(made.verdict, "deadlock").method, row.deadlock) << row.text;
    EXPECT_EQ(find(made.verdict, "collectives").method, row.collectives) << row.text;
    const RecheckReport report = recheck(made.files(), ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << said(report) << row.text;
  }
}

// Two replicas of a chain with the additional items `more`.
std::string replicas_text(const std::string& more, const std::string& dispatch = "dispatch ready;",
                          const std::string& room = "2 - s") {
  return "pipeline replicas {\n  microbatches any;\n  stages 2;\n  place s on s;\n"
         "  data_parallel 2;\n  op F forward { needs F at prev; acquires a; }\n"
         "  op B backward { needs F at here, B at next; releases a; }\n"
         "  op G reduce once on comm { needs B at here of all; }\n"
         "  resource a per stage { capacity " +
         room + "; }\n" + more + "  " + dispatch + "\n}\n";
}

TEST(CertificateGroup, of_replicas_is_accepted_by_each_method) {
  const std::string order =
      "  order o on r { let w = min(1 - r, microbatches);  F * w;  (F B) * (microbatches - w);  "
      "B * w;  G; }\n";
  std::string stuck = replicas_text("");
  stuck.replace(stuck.find("stages 2"), 8, "stages 4");
  stuck.replace(stuck.find("place s on s"), 12, "place s on s < 2 ? s : 3 - s");
  stuck.replace(stuck.find("per stage { capacity 2 - s"), 26, "per rank { capacity 2");
  std::string members = replicas_text("");
  members.insert(members.find("  op F"), "  tensor_parallel 2 { agree by leader; }\n");
  members.insert(members.find("acquires a;"), "collectives 2; ");
  for (const auto& [text, outcome, deadlock, collectives] :
       std::vector<std::tuple<std::string, Outcome, Method, Method>>{
           {replicas_text(""), Outcome::proved, Method::counters, Method::induction},
           {replicas_text(order, "dispatch in order o;"), Outcome::proved, Method::cuts,
            Method::structure},
           {members, Outcome::proved, Method::counters, Method::induction},
           {stuck, Outcome::refuted, Method::counters, Method::induction},
       }) {
    const Group made(text);
    EXPECT_EQ(made.verdict.outcome, outcome) << text;
    EXPECT_EQ(find(made.verdict, "deadlock").method, deadlock) << text;
    EXPECT_EQ(find(made.verdict, "collectives").method, collectives) << text;
    const RecheckReport report = recheck(made.files(), ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << said(report) << text;
  }
}

// A certificate that claims every obligation as proved, deadlock and collectives by these methods.
Files forged(const std::string& text, Method deadlock, Method collectives) {
  Group made(text);
  for (Obligation& o : made.verdict.obligations) {
    if (o.kind == ObligationKind::deadlock) o.method = deadlock;
    if (o.kind == ObligationKind::collectives) o.method = collectives;
    o.outcome = Outcome::proved;
    o.counterexample.reset();
  }
  return made.files();
}

TEST(CertificateGroup, a_false_claim_with_all_its_evidence_made_anew_is_not_accepted) {
  struct Row {
    std::string what;
    Files files;
    RecheckResult result;
    std::string says;
  };
  const std::string shared = group_text(3, "vote", "via inbox", "any", kTwoSlots);
  const std::string none = group_text(2, "none", "", "3");
  for (const Row& row : std::vector<Row>{
           {"one alone", forged(shared, Method::counters, Method::induction),
            RecheckResult::rejected,
            "solver queries/010-deadlock-inbox-of-stage-0-is-too-small.smt2 the solver's answer is "
            "sat, not unsat"},
           {"members who stick",
            forged(group_text(3, "vote", "via inbox", "3", kTwoSlots), Method::members,
                   Method::induction),
            RecheckResult::rejected,
            "states certificate.json `deadlock` with 3 microbatches: a "
            "state that sticks is reached"},
           {"members who choose, by induction", forged(none, Method::counters, Method::induction),
            RecheckResult::undecided, "`collectives` by `induction`"},
           {"members who choose, by structure", forged(none, Method::counters, Method::structure),
            RecheckResult::undecided, "`collectives` by `structure`"},
           {"members who choose, by counters", forged(none, Method::counters, Method::counters),
            RecheckResult::rejected, "collectives-a-choice.smt2"},
           {"replicas that take room for each other",
            forged(replicas_text("  op R reduce on comm { acquires a; releases a; }\n"),
                   Method::counters, Method::induction),
            RecheckResult::undecided, "0R waits for other replicas and acquires a of stage 0"},
           {"every count", forged(shared, Method::members, Method::induction),
            RecheckResult::undecided, "Too many states"},
       }) {
    const RecheckReport report = recheck(row.files, ask_cvc5);
    EXPECT_EQ(report.result, row.result) << row.what << ": " << said(report);
    EXPECT_NE(said(report).find(row.says), std::string::npos) << row.what << ": " << said(report);
  }
}

// --- every number of ranks ---

struct Depth {
  explicit Depth(const std::string& text, spec::ElaborateOptions given = {})
      : source{"depth.ripe", text}, options(std::move(given)) {
    auto parsed = spec::parse(source);
    EXPECT_TRUE(parsed.ok()) << text;
    tree = std::move(parsed).value();
    auto verified = verify::verify_every_depth(tree, source, options);
    EXPECT_TRUE(verified.ok()) << text;
    found = std::move(verified).value();
  }
  [[nodiscard]] Files files() const {
    return certificate_of(source, tree, options, found, "0", 50'000'000);
  }

  spec::Source source;
  spec::ElaborateOptions options;
  spec::ast::Pipeline tree;
  verify::DepthVerdict found;
};

// For some of the other schedules cvc5 takes minutes.
TEST(CertificateDepth, schedules_of_the_library_are_accepted) {
  for (const char* name : {"bf", "1f1b", "bfw_v"}) {
    const Depth made(*spec::library_text(name));
    EXPECT_EQ(made.found.verdict.outcome, Outcome::proved) << name;
    const RecheckReport report = recheck(made.files(), ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << name << ": " << said(report);
    EXPECT_EQ(report.every_rank_from, 1) << name;
  }
}

TEST(CertificateDepth, an_assertion_for_every_depth_is_accepted) {
  std::string text = testing_support::chain_text(2, "ready by bf");
  text.insert(text.rfind('}'), "  assert peak activation <= ranks - s;\n");
  const RecheckReport report = recheck(Depth(text).files(), ask_cvc5);
  EXPECT_EQ(report.result, RecheckResult::accepted) << said(report);
}

// The claim is accepted neither with the evidence that verify has, nor with evidence made to fit.
TEST(CertificateDepth, a_false_claim_is_not_accepted) {
  std::string broken = testing_support::chain_text(2, "ready by bf");
  broken.insert(broken.rfind('}'), "  assert peak activation <= ranks - s - 1;\n");
  for (const std::string& text : {testing_support::chain_text(2, "in order waits"), broken,
                                  testing_support::chain_text(2, "in order short")}) {
    Depth made(text);
    EXPECT_EQ(made.found.verdict.outcome, Outcome::unknown);
    for (Obligation& o : made.found.verdict.obligations) {
      o.outcome = Outcome::proved;
      const bool by_structure =
          o.kind == ObligationKind::collectives || o.kind == ObligationKind::messages ||
          (o.kind == ObligationKind::once && text.find("ready") != std::string::npos);
      o.method = by_structure ? Method::structure : Method::depth;
    }
    made.found.verdict.outcome = Outcome::proved;
    const Files honest = made.files();
    EXPECT_EQ(recheck(honest, ask_cvc5).result, RecheckResult::undecided) << text;
    // All answers are made to support the claim. One of the queries that follow is satisfiable.
    const auto depth = depth_evidence(made.tree, made.source, made.options,
                                      [](std::size_t, const std::string&) { return true; });
    Statement statement{
        made.options, claims_of(made.found.sample, made.found.verdict),
        EveryDepth{made.found.verdict.every_rank_from.value_or(1), depth.value().answers,
                   depth.value().derived.verdict.assumptions}};
    const Evidence evidence = evidence_for(depth.value(), statement.claims);
    EXPECT_TRUE(evidence.gaps.empty());
    Files lie = derived_files(statement.claims, evidence);
    lie[kProgramFile] = honest.at(kProgramFile);
    lie[kManifest] = manifest_of(statement, depth.value().derived.sample, evidence, lie).dump();
    const RecheckReport report = recheck(lie, ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::rejected) << said(report) << text;
    EXPECT_EQ(report.steps.back().name, "solver") << said(report) << text;
  }
}

}  // namespace
}  // namespace ripeline::certificates
