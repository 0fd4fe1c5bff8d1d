// Tests certificates: those that verify writes are accepted, with the same bytes everywhere; a
// claim that is not established is never accepted.
#include "certificates/certificate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "certificates/recheck.h"
#include "certificates/recheck_graph.h"
#include "certificates/sha256.h"
#include "spec/library.h"
#include "tests/support/cvc5.h"
#include "tests/support/mistakes.h"
#include "tests/support/programs.h"
#include "verify/ready/counter_queries.h"

namespace ripeline::certificates::certificate_test {
namespace {

using testing_support::ask_cvc5;
using testing_support::chain_of;
using testing_support::chain_text;
using testing_support::join_text;
using testing_support::join_via;
using testing_support::order_via;
using testing_support::v_text;
using verify::Answer;
using verify::CounterQueries;
using verify::Method;
using verify::Obligation;
using verify::ObligationKind;
using verify::Outcome;
using verify::Solver;
using verify::SolverUse;
using verify::Term;

// A consumer needs two messages over one slot, except for the first microbatch, which is the only
// one. Counts cannot express this exception; visiting the states of 1 microbatch shows it.
constexpr const char* kFirst = R"(pipeline first {
  stages 2;
  place s on s;
  microbatches 1;
  channel inbox per stage { slots 1; }
  op F forward { needs F at prev; }
  op C forward when s == 1 { needs F at prev via inbox, F at prev via inbox of m - 1; }
  dispatch ready;
}
)";

constexpr const char* kInbox = "  channel inbox per rank { slots 5; }\n";
constexpr const char* kOneSlot = "  channel inbox per rank { slots 1; }\n";

// Either F or L may run first.
constexpr const char* kTwoTakers = R"(pipeline takers {
  stages 1;
  place s on s;
  microbatches 2;
  op F forward { acquires a; releases a; }
  op L reload on copy_in { acquires a; releases a; }
  resource a per stage { capacity 2; }
  order both on r { (F L) * microbatches; }
  dispatch in order both;
}
)";

// L needs O, so the room that O releases and the room that L acquires are never held together.
constexpr const char* kOneAtOnce = R"(pipeline one {
  stages 1;
  place s on s;
  microbatches 1 .. 3;
  op F forward { acquires a; }
  op O offload on copy_out { needs F at here; releases a; }
  op L reload on copy_in { needs O at here; acquires a; }
  op B backward { needs L at here; releases a; }
  resource a per rank { capacity 5; }
  order listed on r { (F O L B) * microbatches; }
  dispatch in order listed;
}
)";

// The row of rank 0 lists the microbatches in reverse.
constexpr const char* kFromFile = R"(pipeline from_file {
  microbatches 2;
  stages 2;
  place s on s;
  op F forward { needs F at prev LINK; }
  op B backward { needs F at here, B at next; }
  order listed from csv "somewhere/listed.csv";
  dispatch in order listed;
}
)";

// Options with which every file has these bytes as its content.
spec::ElaborateOptions reading(const std::string& bytes) {
  spec::ElaborateOptions options;
  options.read_file = [bytes](const std::string&) { return bytes; };
  return options;
}

struct Made {
  spec::Source source;
  spec::ElaborateOptions options;
  spec::Program program;
  verify::Verdict verdict;
};

Made make(const std::string& text, const spec::ElaborateOptions& options = {},
          const std::string& name = "test.ripe") {
  spec::Source source{name, text};
  auto program = spec::compile(source, options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : spec::render(source, program.errors()));
  verify::Verdict verdict = verify::verify(program.value());
  return {source, options, std::move(program).value(), std::move(verdict)};
}

Files files_of(const Made& made) {
  return certificate_of(made.source, made.options, made.program, made.verdict, "0");
}

std::string text_of(const RecheckReport& report) {
  std::string text = name_of(report.result) + ":";
  for (const RecheckStep& s : report.steps) {
    if (s.result != RecheckResult::accepted) text += " " + s.name + " " + s.where + " " + s.detail;
  }
  return text;
}

std::string method_of(const verify::Verdict& verdict, const std::string& obligation) {
  for (const Obligation& o : verdict.obligations) {
    if (name_of(o.kind) == obligation) return name_of(o.method);
  }
  return {};
}

struct Accepted {
  std::string what;
  std::string text;
  Outcome verdict;
  std::string method;  // the method for deadlock
};

TEST(Certificate, what_verify_writes_is_accepted_by_each_method) {
  const std::vector<Accepted> table = {
      {"counters", chain_text(3, "ready by bf"), Outcome::proved, "counters"},
      {"counters, a range", chain_text(2, "ready by bf", "3 .. 9"), Outcome::proved, "counters"},
      {"counters, no capacity", chain_text(2, "ready", "any", ""), Outcome::proved, "counters"},
      {"counters, V", v_text(2, true), Outcome::proved, "counters"},
      {"counters, join", join_text(true, "any", 2), Outcome::proved, "counters"},
      {"states", kFirst, Outcome::proved, "states"},
      {"cuts", chain_text(3, "in order one_f_one_b"), Outcome::proved, "cuts"},
      {"cuts, no capacity", chain_text(3, "in order gpipe", "any", ""), Outcome::proved, "cuts"},
      {"graph", chain_text(3, "in order one_f_one_b", "4"), Outcome::proved, "graph"},
      {"links", join_via("sequential", "via fifo 2"), Outcome::proved, "counters"},
      {"channel",
       chain_of("  channel inbox per stage { slots 2; }\n"
                "  op F forward { needs F at prev via inbox; acquires a; }\n"
                "  op B backward { needs F at here, B at next via inbox; releases a; }\n"),
       Outcome::proved, "counters"},
      {"engines, once",
       chain_of("  op F forward { needs F at prev; acquires a; }\n"
                "  op O offload on copy_out { needs F at here; releases a; }\n"
                "  op B backward { needs O at here, B at next; }\n"
                "  op G reduce once { needs B at here of all; }\n",
                "2"),
       Outcome::proved, "counters"},
      {"rendezvous by cuts", order_via("rendezvous", "any"), Outcome::proved, "cuts"},
      {"rendezvous by graph", order_via("rendezvous", "5"), Outcome::proved, "graph"},
      {"slots by cuts", order_via("slots 4", "any"), Outcome::proved, "cuts"},
      {"slots by graph", order_via("slots 4", "6"), Outcome::proved, "graph"},
      {"fifo by cuts", order_via("fifo 1", "any"), Outcome::proved, "cuts"},
      {"fifo by graph", order_via("fifo 1", "6"), Outcome::proved, "graph"},
      {"a channel by graph", order_via("inbox", "5", kInbox), Outcome::proved, "graph"},
      {"two engines take from one pool", kTwoTakers, Outcome::proved, "states"},
      {"too few slots by graph", order_via("slots 2", "6"), Outcome::refuted, "graph"},
      {"too few slots", order_via("slots 2", "any"), Outcome::refuted, "cuts"},
      {"refuted by counters", v_text(2, false), Outcome::refuted, "counters"},
      {"refuted by cuts, a cycle", chain_text(2, "in order waits"), Outcome::refuted, "cuts"},
      {"refuted by cuts, no room", chain_text(3, "in order gpipe"), Outcome::refuted, "cuts"},
      {"refuted by graph, a cycle", chain_text(2, "in order waits", "2"), Outcome::refuted,
       "graph"},
      {"refuted by graph, no room", chain_text(2, "in order gpipe", "3"), Outcome::refuted,
       "graph"},
  };
  for (const Accepted& row : table) {
    const Made made = make(row.text);
    EXPECT_EQ(made.verdict.outcome, row.verdict) << row.what;
    EXPECT_EQ(method_of(made.verdict, "deadlock"), row.method) << row.what;
    const RecheckReport report = recheck(files_of(made), ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << row.what << ": " << text_of(report);
    EXPECT_EQ(report.verdict, row.verdict) << row.what;
    EXPECT_EQ(report.steps.size(), 8u) << row.what;
  }
}

TEST(Certificate, refutations_of_memory_and_of_once_are_accepted) {
  std::string tight = chain_text(2, "ready by bf");
  tight.insert(tight.rfind('}'), "  assert peak activation <= 1;\n");
  std::string tight_order = chain_text(2, "in order one_f_one_b");
  tight_order.insert(tight_order.rfind('}'), "  assert peak activation <= 1;\n");
  std::string one_count = tight_order;  // its graph is listed for the proof of deadlock
  one_count.replace(one_count.find("microbatches any"), 16, "microbatches 3");
  for (const auto& [text, refuted] : std::vector<std::pair<std::string, std::string>>{
           {tight, "memory"},
           {tight_order, "memory"},
           {one_count, "memory"},
           {chain_text(2, "in order short"), "once"},
           {chain_text(2, "in order short", "2"), "once"}}) {
    const Made made = make(text);
    for (const Obligation& o : made.verdict.obligations) {
      if (name_of(o.kind) == refuted) {
        EXPECT_EQ(o.outcome, Outcome::refuted) << text;
      }
    }
    const RecheckReport report = recheck(files_of(made), ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << text_of(report) << text;
  }
}

TEST(Certificate, an_order_from_a_file_is_accepted_with_the_file_in_the_folder) {
  struct Row {
    std::string link;
    std::string csv;
    Outcome verdict;
    std::string dispatch;
  };
  const std::string in_order = "in order listed";
  for (const Row& row : std::vector<Row>{
           {"", "0F1,0F0,,0B1,0B0\n1F1,1B1,1F0,1B0\n", Outcome::proved, in_order},
           {"", "0F1,0F0,,0B1,0B0\n1F1,1B1,1F0,1B0\n", Outcome::proved, "ready by followed"},
           {"via fifo 1", "0F1,0F0,,0B1,0B0\n1F1,1B1,1F0,1B0\n", Outcome::proved, in_order},
           {"via slots 2", "0F1,0F0,,0B1,0B0\n1F0,1F1,1B1,1B0\n", Outcome::proved, in_order},
           {"via fifo 2", "0F1,0F0,,0B1,0B0\n1F0,1F1,1B1,1B0\n", Outcome::proved, in_order},
           {"via fifo 1", "0F1,0F0,,0B1,0B0\n1F0,1F1,1B1,1B0\n", Outcome::refuted, in_order},
           {"via fifo 2", "0F0,0F1,0F2,0B0,0B1,0B2\n1F1,1F0,1F2,1B0,1B1,1B2\n", Outcome::proved,
            in_order},
           {"", "0F1,0B1,0F0,0B0\n1F0,1F1,1B1,1B0\n", Outcome::refuted, in_order},
           {"", "0F1,0F1,0B1,0B0\n1F1,1B1,1F0,1B0\n", Outcome::refuted, in_order}}) {
    std::string text = kFromFile;
    text.replace(text.find("LINK"), 4, row.link);
    if (row.csv.find("F2") != std::string::npos) {
      text.replace(text.find("microbatches 2"), 14, "microbatches 3");
    }
    text.insert(text.find("  dispatch"), "  hint followed { follow listed; }\n");
    text.replace(text.find(in_order), in_order.size(), row.dispatch);
    const Made made = make(text, reading(row.csv));
    EXPECT_EQ(made.verdict.outcome, row.verdict) << text << row.csv;
    const Files files = files_of(made);
    EXPECT_EQ(files.at(kOrderFile), row.csv);
    const RecheckReport report = recheck(files, ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::accepted) << text_of(report) << text << row.csv;
  }
}

TEST(Certificate, every_library_schedule_is_accepted) {
  for (const spec::LibraryEntry& entry : spec::library()) {
    for (const spec::ElaborateOptions& options :
         {spec::ElaborateOptions{.defines = {{"ranks", 2}}, .dispatch = ""},
          spec::ElaborateOptions{.defines = {{"ranks", 3}, {"microbatches", 4}}, .dispatch = ""}}) {
      const Made made = make(std::string(entry.text), options, std::string(entry.name));
      const RecheckReport report = recheck(files_of(made), ask_cvc5);
      EXPECT_EQ(report.verdict, Outcome::proved) << entry.name;
      EXPECT_EQ(report.result, RecheckResult::accepted) << entry.name << ": " << text_of(report);
    }
  }
}

// If a pair lacks the room that `leaving` demands beside it, its second task starts alone.
TEST(Certificate, of_a_pair_that_leaves_room_is_accepted) {
  const Made made = make(R"(pipeline p { microbatches 4; stages 1; place s on s;
    op F forward { acquires a leaving 1; }
    op B backward { needs F at here; releases a; }
    resource a per stage { capacity 2; }
    pair F, B;
    order o on r { (F B) * microbatches; }
    dispatch in order o; })");
  EXPECT_EQ(made.verdict.outcome, Outcome::proved);
  const RecheckReport report = recheck(files_of(made), ask_cvc5);
  EXPECT_EQ(report.result, RecheckResult::accepted) << text_of(report);
}

TEST(Certificate, the_same_verdict_gives_the_same_bytes_wherever_the_program_lies) {
  for (const std::string& text :
       {v_text(2, false), chain_text(2, "in order one_f_one_b", "3"), chain_text(2, "ready")}) {
    EXPECT_EQ(files_of(make(text, {}, "/home/somebody/a.ripe")),
              files_of(make(text, {}, "b.ripe")));
  }
}

TEST(Certificate, its_program_is_in_the_canonical_layout_with_what_it_takes_to_elaborate_it) {
  const Made made = make(
      "pipeline p { param n=2; stages n; place s on s; microbatches any; op F "
      "forward { needs F at prev; } hint h { prefer F; } dispatch ready; }",
      {.defines = {{"n", 3}}, .dispatch = "ready by h"});
  const Files files = files_of(made);
  EXPECT_EQ(files.at("program.ripe").substr(0, 27), "pipeline p {\n  param n = 2;");
  const auto manifest = nlohmann::json::parse(files.at(kManifest));
  EXPECT_EQ(manifest.at("schema"), "ripeline.certificate/1");
  EXPECT_EQ(manifest.at("program").at("defines").at("n"), 3);
  EXPECT_EQ(manifest.at("program").at("dispatch"), "ready by h");
  EXPECT_EQ(recheck(files, ask_cvc5).result, RecheckResult::accepted);
}

// --- false claims, with everything else as the writer of certificates makes it ---

// A certificate with changed outcomes, as somebody with this tool's sources could forge it.
Files forged(const std::string& text, Method method, const std::vector<int>& counts = {}) {
  Made made = make(text);
  for (Obligation& o : made.verdict.obligations) {
    if (o.kind == ObligationKind::collectives || o.kind == ObligationKind::messages) {
      o.method = Method::structure;
    } else if (o.outcome != Outcome::proved || o.kind == ObligationKind::deadlock) {
      o.method = method;
      o.counts = o.kind == ObligationKind::deadlock ? counts : std::vector<int>{};
      if (o.kind == ObligationKind::memory) o.peak["activation"].resize(made.program.pools.size());
    }
    o.outcome = Outcome::proved;
    o.counterexample.reset();
  }
  return files_of(made);
}

Files by_unknown_method(const std::string& text) {
  Files files = files_of(make(text));
  nlohmann::json manifest = nlohmann::json::parse(files.at(kManifest));
  manifest.at("obligations").at(0).at("method") = "trust me";
  files.at(kManifest) = manifest.dump(2);
  return files;
}

struct Forgery {
  std::string what;
  Files files;
  RecheckResult result;
  std::string step;
  std::string says;
};

TEST(Certificate, a_false_claim_with_all_its_evidence_made_anew_is_not_accepted) {
  std::string tight = chain_text(2, "ready by bf");
  tight.insert(tight.rfind('}'), "  assert peak activation <= 1;\n");
  const std::string overtakes = R"(pipeline overtakes {
  stages 2;
  place s on s;
  microbatches 1 .. 3;
  op F forward { needs F at prev; acquires w; }
  op B backward sequential { needs F at here, B at next;  releases w; }
  resource w per stage { capacity 1; }
  dispatch ready;
}
)";
  // If F runs first with both microbatches, no room is left for L.
  std::string two_takers_stick = kTwoTakers;
  const std::string frees = "F forward { acquires a; releases a; }";
  two_takers_stick.replace(two_takers_stick.find(frees), frees.size(), "F forward { acquires a; }");
  const std::vector<Forgery> table = {
      {"a stuck state", forged(v_text(2, false), Method::counters), RecheckResult::rejected,
       "solver", "deadlock-a-stuck-state.smt2 the solver's answer is sat, not unsat"},
      {"a stuck cut", forged(chain_text(2, "in order waits"), Method::cuts),
       RecheckResult::rejected, "solver", "a-stuck-cut"},
      {"a place without room", forged(chain_text(3, "in order gpipe"), Method::cuts),
       RecheckResult::rejected, "solver", "a-place-without-room"},
      {"an inbox overfull", forged(order_via("slots 2", "any"), Method::cuts),
       RecheckResult::rejected, "solver", "deadlock-an-inbox-overfull"},
      {"an order that is too short", forged(chain_text(2, "in order short"), Method::cuts),
       RecheckResult::rejected, "solver", "the solver's answer is sat, not unsat"},
      {"a cycle as a graph", forged(chain_text(2, "in order waits", "2"), Method::graph),
       RecheckResult::rejected, "graphs", "is not in the order"},
      {"no room, as a graph", forged(chain_text(2, "in order gpipe", "3"), Method::graph),
       RecheckResult::rejected, "graphs", "is not in the order"},
      {"too few slots, as a graph", forged(order_via("slots 2", "6"), Method::graph),
       RecheckResult::rejected, "graphs", "more messages than there are slots may wait before 0B2"},
      {"too small a channel, as a graph", forged(order_via("inbox", "6", kOneSlot), Method::graph),
       RecheckResult::rejected, "graphs", "more messages than there are slots may wait before"},
      {"two engines, as a graph", forged(kTwoTakers, Method::graph), RecheckResult::undecided,
       "obligations", "A graph does not show a of stage 0 is acquired on two engines"},
      {"two engines that stick, by states", forged(two_takers_stick, Method::states),
       RecheckResult::rejected, "states", "a state that sticks is reached"},
      {"too short, as a graph", forged(chain_text(2, "in order short", "2"), Method::graph),
       RecheckResult::rejected, "graphs", "is not in the ranks' orders"},
      {"states that stick", forged(overtakes, Method::states, {1, 2, 3}), RecheckResult::rejected,
       "states", "a state that sticks is reached"},
      {"states without the counts", forged(kFirst, Method::states), RecheckResult::rejected,
       "solver", "a-stuck-state"},
      {"counters where states are needed", forged(kFirst, Method::counters),
       RecheckResult::rejected, "solver", "a-stuck-state"},
      {"a broken assertion", forged(tight, Method::counters), RecheckResult::rejected, "solver",
       "memory-an-assertion-broken"},
      {"a method that carries nothing", forged(chain_text(2, "ready"), Method::structure),
       RecheckResult::undecided, "obligations", "`deadlock` by `structure`"},
      {"a method that nobody knows", by_unknown_method(chain_text(2, "ready")),
       RecheckResult::undecided, "obligations", "`deadlock` by `trust me`"},
      {"an order by counters", forged(chain_text(2, "in order gpipe", "3"), Method::counters),
       RecheckResult::undecided, "obligations", "`deadlock` by `counters`"},
      {"graphs for a range without an end", forged(chain_text(2, "in order gpipe"), Method::graph),
       RecheckResult::undecided, "obligations", "So many graphs"},
  };
  for (const Forgery& row : table) {
    const RecheckReport report = recheck(row.files, ask_cvc5);
    EXPECT_EQ(report.result, row.result) << row.what << ": " << text_of(report);
    const std::string said = text_of(report);
    EXPECT_NE(said.find(" " + row.step + " "), std::string::npos) << row.what << ": " << said;
    EXPECT_NE(said.find(row.says), std::string::npos) << row.what << ": " << said;
  }
}

// The method `cuts` shows a peak of 2; visiting every state of every count shows that it is 1.
TEST(Certificate, a_peak_that_states_show_is_established_by_visiting_them) {
  Made made = make(kOneAtOnce);
  verify::Peak* peak = nullptr;
  for (Obligation& o : made.verdict.obligations) {
    if (o.kind == ObligationKind::memory) peak = &o.peak.at("a").at(0).value();
  }
  ASSERT_EQ(*peak, (verify::Peak{.bound = 1, .reached = true, .by_states = true}));
  const RecheckReport report = recheck(files_of(made), ask_cvc5);
  EXPECT_EQ(report.result, RecheckResult::accepted) << text_of(report);
  peak->bound = 0;
  const RecheckReport too_low = recheck(files_of(made), ask_cvc5);
  EXPECT_EQ(too_low.result, RecheckResult::rejected);
  EXPECT_NE(text_of(too_low).find("exceeds a claimed peak"), std::string::npos);
  *peak = {.bound = 1, .reached = true};
  EXPECT_EQ(recheck(files_of(made), ask_cvc5).result, RecheckResult::rejected)
      << "its method does not show it";
}

TEST(Certificate, a_peak_that_is_claimed_too_low_is_rejected) {
  for (const char* dispatch : {"ready by bf", "in order one_f_one_b"}) {
    for (const char* microbatches : {"any", "4"}) {
      Made made = make(chain_text(3, dispatch, microbatches));
      for (Obligation& o : made.verdict.obligations) {
        if (o.kind == ObligationKind::memory)
          o.peak.at("activation").at(0) = verify::Peak{.bound = 2};
      }
      const RecheckReport report = recheck(files_of(made), ask_cvc5);
      EXPECT_EQ(report.result, RecheckResult::rejected) << dispatch << ", " << microbatches;
    }
  }
}

TEST(Certificate, an_unknown_verdict_has_a_certificate_that_is_never_accepted) {
  const Made made = make(join_text(false, "any", 1));
  ASSERT_EQ(made.verdict.outcome, Outcome::unknown);
  const Files files = files_of(made);
  EXPECT_EQ(nlohmann::json::parse(files.at(kManifest)).at("verdict"), "unknown");
  EXPECT_EQ(recheck(files, ask_cvc5).result, RecheckResult::undecided);
  // Even a solver that gives every wanted answer does not help.
  const AskAll obliging = [](const std::vector<std::string>& texts) {
    return std::vector<Reply>(texts.size(), {Answer::unsat, {}});
  };
  EXPECT_NE(recheck(files, obliging).result, RecheckResult::accepted);
}

TEST(Certificate, a_solver_without_an_answer_leaves_it_undecided) {
  const Files files = files_of(make(chain_text(2, "ready by bf")));
  const AskAll tired = [](const std::vector<std::string>& texts) {
    std::vector<Reply> replies = ask_cvc5(texts);
    replies.back() = {Answer::unknown, "not within 1 s"};
    return replies;
  };
  const RecheckReport report = recheck(files, tired);
  EXPECT_EQ(report.result, RecheckResult::undecided);
  EXPECT_NE(text_of(report).find("not within 1 s"), std::string::npos);
}

// --- the meaning of the queries ---

TEST(Certificate, a_false_invariant_is_broken_at_the_start_or_by_a_start) {
  const auto program = spec::compile({"x", chain_text(2, "ready")});
  const auto ask = [](CounterQueries& queries, Term term, std::size_t required) {
    return ask_cvc5({queries.solver().script("x", {term}, required)}).front().answer;
  };
  const auto broken_by_any = [&](CounterQueries& queries) {
    int broken = 0;
    for (int lane = 0; lane < size_of(program.value().lanes); ++lane) {
      const Term term = queries.broken_by_start(lane);
      if (ask(queries, term, queries.solver().required()) == Answer::sat) ++broken;
    }
    return broken;
  };
  const auto at_start = [&](CounterQueries& queries) {
    const Term term = queries.solver().all_of({queries.at_start(), queries.invariant_broken()});
    return ask(queries, term, queries.required_before_invariant());
  };
  CounterQueries right(program.value(), SolverUse::writing());
  EXPECT_EQ(broken_by_any(right), 0);
  EXPECT_EQ(at_start(right), Answer::unsat);
  verify::Counters assuming = verify::count(program.value());
  testing_support::mistakes::assumed_room().counters(program.value(), assuming);
  CounterQueries greedy(program.value(), assuming, SolverUse::writing());
  EXPECT_EQ(broken_by_any(greedy), 2);  // by the F of each stage
  verify::Counters early = verify::count(program.value());
  early.invariant.push_back({{{0, 1}}, {}, -1});  // claims that 0F has run
  CounterQueries begun(program.value(), early, SolverUse::writing());
  EXPECT_EQ(at_start(begun), Answer::sat);
}

TEST(Certificate, both_solvers_read_every_operator_alike) {
  using Build = Term (*)(Solver&, Term);
  struct Row {
    std::string what;
    Build build;
    Answer answer;
  };
  const std::vector<Row> table = {
      {"sum",
       [](Solver& s, Term x) {
         return s.sum({x, s.number(2)}) == s.number(1);
       },
       Answer::sat},
      {"sum of none", [](Solver& s, Term x) { return x < s.sum({}); }, Answer::sat},
      {"difference", [](Solver&, Term x) { return x - x < x; }, Answer::unsat},
      {"times", [](Solver& s, Term x) { return (-2) * x == s.number(2); }, Answer::sat},
      {"odd", [](Solver& s, Term x) { return 2 * x == s.number(3); }, Answer::unsat},
      {"at most", [](Solver& s, Term x) { return x <= s.number(-1); }, Answer::sat},
      {"less", [](Solver& s, Term x) { return x < s.number(-1); }, Answer::unsat},
      {"not", [](Solver& s, Term x) { return !(x == s.number(-1)); }, Answer::unsat},
      {"all",
       [](Solver& s, Term x) {
         return s.all_of({x < x + x, x == x});
       },
       Answer::unsat},
      {"all of none", [](Solver& s, Term) { return s.all_of({}); }, Answer::sat},
      {"any",
       [](Solver& s, Term x) {
         return s.any_of({x < x, x == x});
       },
       Answer::sat},
      {"any of none", [](Solver& s, Term) { return s.any_of({}); }, Answer::unsat},
      {"div", [](Solver& s, Term x) { return floor_div(7 * x, 2) == s.number(-4); }, Answer::sat},
      {"mod", [](Solver& s, Term x) { return floor_mod(7 * x, 3) == s.number(2); }, Answer::sat},
      {"choice",
       [](Solver& s, Term x) { return if_then_else(x < s.number(0), x, s.number(5)) == x; },
       Answer::sat},
      {"shared",
       [](Solver& s, Term x) {
         Term y = x;
         for (int i = 0; i < 40; ++i) y = y + if_then_else(y < x, x, y);
         return s.all_of({y == s.number(-41), y + x == s.number(-42), y <= y});
       },
       Answer::sat},
  };
  for (const Row& row : table) {
    Solver solving(0);
    const Term x = solving.integer("x");
    solving.require(x == solving.number(-1));
    EXPECT_EQ(solving.check("", {row.build(solving, x)}), row.answer) << row.what;
    Solver writing(SolverUse::writing());
    const Term y = writing.integer("x");
    writing.require(y == writing.number(-1));
    const std::string text = writing.script(row.what, {row.build(writing, y)}, writing.required());
    EXPECT_EQ(ask_cvc5({text}).front().answer, row.answer) << text;
    EXPECT_LT(text.size(), 12'000u) << "shared terms are written once";
  }
}

TEST(Certificate, check_graph_reads_what_it_is_given) {
  const std::string begin = "ripeline.graph/1\ntasks a b c\nrank a b\nrank c\nneed c b\n";
  const std::string links = "ripeline.graph/1\ntasks a b c x y z\nrank a b c\nrank x y z\n";
  struct Row {
    std::string text;
    bool once, order, cycle;
    std::string problem;
  };
  const std::vector<Row> table = {
      {begin + "order a c b\n", true, true, false, ""},
      {begin + "order c a b\n", true, true, false, ""},
      {begin + "order a b c\n", true, true, false, "b is in the order before c"},
      {begin + "order b a c\n", true, true, false, "b is in the order before a"},
      {begin + "order a c\n", true, true, false, "b is not in the order"},
      {begin + "order a c c b\n", true, true, false, "c is twice in the order"},
      {begin + "order a c b d\n", true, true, false, "the order has a task that is none"},
      {begin, true, true, false, "a is not in the order"},
      {begin + "order a c b\norder a c b\n", true, true, false,
       "a line is not understood: order a c b"},
      {begin + "need c\n", true, false, false, "a line is not understood: need c"},
      {begin + "need b a\ncycle a b\n", true, false, true, ""},
      {begin + "cycle a b\n", true, false, true, "the cycle goes from b to a, which is no edge"},
      {begin, true, false, true, "the cycle is missing"},
      {begin + "rank a\n", true, false, false, "a is twice in the ranks' orders"},
      {"ripeline.graph/1\ntasks a b\nrank a\n", true, false, false,
       "b is not in the ranks' orders"},
      {"ripeline.graph/1\ntasks a b\nrank a\n", false, false, false, ""},
      {"ripeline.graph/1\ntasks a a\nrank a\n", false, false, false, "a is twice in the tasks"},
      {"", false, false, false, "it is no such graph"},
      {links + "slots 2 a x b y c z\norder a b c x y z\n", true, true, false,
       "more messages than there are slots may wait before x"},
      {links + "slots 3 a x b y c z\norder a b c x y z\n", true, true, false, ""},
      {links + "need x b\nslots 1 a x b y c z\norder a x b c y z\n", true, true, false,
       "more messages than there are slots may wait before y"},
      {links + "need x b\nslots 2 a x b y c z\norder a x b c y z\n", true, true, false, ""},
      {links + "need x b\nneed y c\nslots 1 a x b y c z\norder a x b y c z\n", true, true, false,
       ""},
      {links + "slots 3 a x b y z c\norder a b c x y z\n", true, true, false,
       "c does not take where x does"},
      {links + "slots 3 a x b y c\norder a b c x y z\n", true, true, false,
       "a line is not understood: slots 3 a x b y c"},
      {links + "slots -1 a x\norder a b c x y z\n", true, true, false,
       "a line is not understood: slots -1 a x"},
      {links + "slots 3 a w\norder a b c x y z\n", true, true, false,
       "a link has a task that is none"},
      {links + "fifo a x b y c z\norder a b c x y z\n", true, true, false, ""},
      {links + "fifo a y b x c z\norder a b c x y z\n", true, true, false,
       "a link's messages are not taken as they are sent: y"},
      {links + "fifo b x a y c z\norder a b c x y z\n", true, true, false,
       "a link's messages are not taken as they are sent: x"},
      {links + "fifo a x b x\norder a b c x y z\n", true, true, false,
       "a link's messages are not taken as they are sent: x"},
      {links + "slots\norder a b c x y z\n", true, true, false, "a line is not understood: slots"},
      {links + "queue 2 a y b x c z\norder a b c x y z\n", true, true, false, ""},
      {links + "queue 1 a y b x c z\norder a b c x y z\n", true, true, false,
       "no slot is left for the message that is taken by x"},
      {links + "queue 2 a y b z c x\norder a b c x y z\n", true, true, false,
       "no slot is left for the message that is taken by x"},
      {links + "queue 3 b x a y c z\norder a b c x y z\n", true, true, false,
       "a link's messages are not in the order of their senders: b"},
      {links + "queue 3 a y b x c b\norder a b c x y z\n", true, true, false,
       "b does not take where y does"},
  };
  for (const Row& row : table) {
    EXPECT_EQ(check_graph(row.text, row.once, row.order, row.cycle).problem.value_or(""),
              row.problem)
        << row.text;
  }
}

TEST(Certificate, sha256_gives_the_standards_values) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& [bytes, expected] : table) EXPECT_EQ(sha256(bytes), expected);
}

}  // namespace
}  // namespace ripeline::certificates::certificate_test
