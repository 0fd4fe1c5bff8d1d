// Tests that forward passes are programs that are proved, and that run each forward once.
#include "spec/forward_only.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "spec/parse.h"
#include "tests/support/random_program.h"
#include "verify/every_depth.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

// A lane's op and stage, whether it runs once, and which of the first microbatches it has.
using ForwardLane = std::tuple<std::string, int, bool, std::vector<bool>>;

// The lanes of forwards. If `all`, the program must have no others.
std::set<ForwardLane> forwards_of(const spec::Program& program, bool all) {
  constexpr int kMicrobatches = 24;
  std::set<ForwardLane> lanes;
  for (const spec::Lane& lane : program.lanes) {
    const spec::Op& op = program.ops[static_cast<std::size_t>(lane.op)];
    const bool is_forward = op.kind == spec::OpKind::forward;
    EXPECT_TRUE(is_forward || !all) << op.name;
    std::vector<bool> share;
    for (int m = 0; m < kMicrobatches; ++m) share.push_back(lane.share.has(m));
    if (is_forward) lanes.insert({op.name, lane.stage, lane.once, std::move(share)});
  }
  return lanes;
}

// The forward pass as a program; nullopt if the program has none, for a reason that is told.
std::optional<spec::Program> forward_pass(const spec::Source& source,
                                          const spec::ElaborateOptions& options = {}) {
  const auto text = spec::forward_only(spec::parse(source).value());
  if (!text.ok()) {
    EXPECT_EQ(text.errors().front().id, "forward-only");
    return std::nullopt;
  }
  const spec::Source forwards{source.name, text.value()};
  auto program = spec::compile(forwards, options);
  EXPECT_TRUE(program.ok()) << spec::render(forwards, program.errors()) << source.text
                            << text.value();
  if (!program.ok()) return std::nullopt;
  const auto whole = spec::compile(source, options);
  EXPECT_EQ(forwards_of(program.value(), true), forwards_of(whole.value(), false)) << source.text;
  return std::move(program).value();
}

TEST(ForwardOnly, is_proved_for_the_library) {
  for (const spec::LibraryEntry& entry : spec::library()) {
    const spec::Source source{std::string(entry.name), std::string(entry.text)};
    for (const int ranks : {1, 2, 3, 4}) {
      const auto program = forward_pass(source, {.defines = {{"ranks", ranks}}, .dispatch = ""});
      ASSERT_TRUE(program) << entry.name;
      EXPECT_EQ(verify(*program).outcome, Outcome::proved) << entry.name << ", " << ranks;
    }
    const spec::Source forwards{source.name,
                                spec::forward_only(spec::parse(source).value()).value()};
    const auto depth = verify_every_depth(spec::parse(forwards).value(), forwards, {});
    ASSERT_TRUE(depth.ok()) << entry.name;
    // Chimera's stages are in groups, which only the proof of an order can read.
    const Outcome expected = entry.name == "chimera" ? Outcome::unknown : Outcome::proved;
    EXPECT_EQ(depth.value().verdict.outcome, expected) << entry.name;
  }
}

TEST(ForwardOnly, is_proved_for_random_programs_or_has_a_reason) {
  constexpr int kPrograms = 400;
  std::map<std::string, int> found;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    testing_support::RandomProgramOptions options;
    options.forks = options.links = seed % 2 == 0;
    options.once = options.before = options.engines = options.mixed = seed % 3 == 0;
    options.shares = seed % 5 == 0;
    options.pairs = seed % 7 == 0;
    options.groups = seed % 11 == 0;
    options.hints = options.keeping = seed % 13 == 0;
    const spec::Source source{
        "random", testing_support::random_program_text(static_cast<std::uint64_t>(seed), options)};
    const auto program = forward_pass(source);
    if (!program) {
      ++found["none"];
      continue;
    }
    const Verdict verdict = verify(*program);
    ++found[name_of(verdict.outcome)];
    for (const Obligation& o : verdict.obligations) {
      EXPECT_TRUE(o.outcome == Outcome::proved || !o.reason.empty()) << source.text;
    }
    EXPECT_EQ(obligation(verdict, ObligationKind::once).outcome, Outcome::proved) << source.text;
  }
  EXPECT_GT(found["proved"], kPrograms * 8 / 10);
}

}  // namespace
}  // namespace ripeline::verify
