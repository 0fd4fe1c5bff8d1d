// Tests certificates of random programs: those of verify's verdicts are accepted; a claim contrary
// to a refutation is not, even if all its evidence is made to fit.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "certificates/certificate.h"
#include "certificates/recheck.h"
#include "spec/elaborate.h"
#include "tests/support/cvc5.h"
#include "tests/support/random_program.h"

namespace ripeline::certificates {
namespace {

using verify::Method;
using verify::Outcome;

// The number of seeds whose forgeries make queries for cvc5, which take most of the time.
constexpr std::uint64_t kAsked = 15;

testing_support::RandomProgramOptions small() {
  return {.max_ranks = 3,
          .max_chunks = 1,
          .max_microbatches = 3,
          .any_count = false,
          .links = true,
          .once = true,
          .before = true,
          .engines = true,
          .keeping = true,
          .shares = true,
          .pairs = true,
          .groups = true};
}

// Gives each query the answer that its text expects; the tests below ask cvc5 instead.
std::vector<Reply> as_it_must_be(const std::vector<std::string>& texts) {
  std::vector<Reply> replies;
  for (const std::string& text : texts) {
    const bool sat = text.find("\n; sat when") != std::string::npos;
    replies.push_back({sat ? verify::Answer::sat : verify::Answer::unsat, {}});
  }
  return replies;
}

std::string text_of(const RecheckReport& report) {
  const RecheckStep& last = report.steps.back();
  std::string text = name_of(report.result);
  for (const RecheckStep& s : report.steps) {
    if (s.result != RecheckResult::accepted) text += ": " + s.name + " " + s.where + " " + s.detail;
  }
  return text + last.name;
}

TEST(CertificateRandom, what_is_proved_or_refuted_is_accepted) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 360; ++seed) {
    const spec::Source source{"random.ripe", testing_support::random_program_text(seed, small())};
    const auto program = spec::compile(source);
    ASSERT_TRUE(program.ok()) << source.text;
    const verify::Verdict verdict = verify::verify(program.value(), {.solver_steps = 5'000'000});
    const Files files = certificate_of(source, {}, program.value(), verdict, "0");
    const RecheckReport report = recheck(files, as_it_must_be, {.states = 20'000});
    const std::string what = text_of(report);
    EXPECT_NE(report.result, RecheckResult::rejected) << seed << " " << what << "\n" << source.text;
    if (verdict.outcome == Outcome::unknown) continue;
    ++seen[name_of(verdict.outcome) + " " + name_of(report.result)];
    if (report.result == RecheckResult::undecided) std::cout << seed << " " << what << "\n";
  }
  for (const auto& [what, times] : seen) std::cout << what << ": " << times << "\n";
  EXPECT_GT(seen["proved accepted"], 60);
  EXPECT_GT(seen["refuted accepted"], 60);
}

// Forges claims by each method that certificates have. A false claim is rejected or undecided.
TEST(CertificateRandom, the_contrary_of_a_refutation_is_not_accepted) {
  int forged = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const spec::Source source{"random.ripe", testing_support::random_program_text(seed, small())};
    const auto program = spec::compile(source);
    ASSERT_TRUE(program.ok()) << source.text;
    const verify::Verdict verdict = verify::verify(program.value(), {.solver_steps = 5'000'000});
    if (verdict.outcome != Outcome::refuted) continue;
    for (const Method method : {Method::graph, Method::cuts, Method::counters, Method::states,
                                Method::members, Method::structure}) {
      const bool asks = method == Method::cuts || method == Method::counters;
      if (asks && seed > kAsked) continue;
      verify::Verdict lie = verdict;
      for (verify::Obligation& o : lie.obligations) {
        if (o.outcome == Outcome::proved) continue;
        o.outcome = Outcome::proved;
        o.method = o.kind == verify::ObligationKind::messages ? Method::structure : method;
        if (o.kind == verify::ObligationKind::collectives && o.method == Method::graph)
          o.method = Method::induction;
        o.counts = o.method == Method::states ? std::vector{program.value().microbatches.min}
                                              : std::vector<int>();
        o.counterexample.reset();
        if (o.kind != verify::ObligationKind::memory) continue;
        for (const spec::Pool& pool : program.value().pools) {
          const std::string& name =
              program.value().resources[static_cast<std::size_t>(pool.resource)].name;
          o.peak[name].push_back(
              pool.capacity ? std::optional(verify::Peak{.bound = *pool.capacity}) : std::nullopt);
        }
      }
      lie.outcome = Outcome::proved;
      const Files files = certificate_of(source, {}, program.value(), lie, "0");
      const RecheckReport report = recheck(files, testing_support::ask_cvc5, {.states = 20'000});
      EXPECT_NE(report.result, RecheckResult::accepted) << seed << " by " << name_of(method) << "\n"
                                                        << source.text;
      forged += report.result == RecheckResult::rejected ? 1 : 0;
    }
  }
  std::cout << forged << " forgeries rejected\n";
  EXPECT_GT(forged, 50);
}

}  // namespace
}  // namespace ripeline::certificates
