// Tests repairs of random programs against a separate brute-force search, which tries every change
// of a single `leaving`, by op, resource and number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "optimise/repair.h"
#include "spec/elaborate.h"
#include "spec/indexing.h"
#include "spec/parse.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

namespace ast = spec::ast;

constexpr int kPrograms = 4;  // the number of drawn programs that one number repairs
constexpr int kMostLanes = 12;
constexpr verify::VerifyOptions kJudging{.solver_steps = 1'000'000, .search_states = 5'000};

const testing_support::RandomProgramOptions kSmall{
    .max_ranks = 3, .max_chunks = 2, .max_tasks = 40, .orders = false, .assertions = false};

bool is_proved(const ast::Pipeline& tree, const spec::Source& source) {
  const auto program = spec::elaborate(tree, source, {});
  return program.ok() &&
         verify::verify(program.value(), kJudging).outcome == verify::Outcome::proved;
}

std::int64_t largest_capacity(const spec::Program& program) {
  std::int64_t largest = 0;
  for (const spec::Pool& pool : program.pools) {
    largest = std::max(largest, pool.capacity.value_or(0));
  }
  return largest;
}

// Whether one `leaving`, of some op, some resource and some number, makes the program proved.
bool one_number_repairs(const spec::Source& source, std::int64_t most) {
  const ast::Pipeline tree = spec::parse(source).value();
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    const auto* op = std::get_if<ast::Op>(&tree.items[i].value);
    for (std::size_t c = 0; op != nullptr && c < op->clauses.size(); ++c) {
      if (!std::holds_alternative<ast::Acquires>(op->clauses[c].value)) continue;
      for (std::int64_t number = 0; number <= most; ++number) {
        ast::Pipeline changed = tree;
        auto& clause = std::get<ast::Op>(changed.items[i].value).clauses[c].value;
        std::get<ast::Acquires>(clause).leaving = spec::Expr::number(number);
        if (is_proved(changed, source)) return true;
      }
    }
  }
  return false;
}

bool is_one_number(const verify::ProvedRepair& repair) {
  return repair.what == "leaving" && repair.text.find("chunk") == std::string::npos;
}

TEST(RepairRandom, what_one_number_repairs_is_repaired_and_what_is_offered_is_proved) {
  int repairable = 0;
  int repaired = 0;
  int by_number = 0;
  for (std::uint64_t seed = 1; repairable < kPrograms; ++seed) {
    const spec::Source source{"random.ripe", testing_support::random_program_text(seed, kSmall)};
    const auto program = spec::compile(source);
    ASSERT_TRUE(program.ok()) << source.text;
    if (size_of(program.value().lanes) > kMostLanes) continue;
    const verify::Verdict verdict = verify::verify(program.value(), kJudging);
    if (verdict.outcome != verify::Outcome::refuted) continue;
    const Repairs repairs = find_repairs(source, {}, program.value(), verdict);
    bool has_number = false;
    for (const verify::ProvedRepair& repair : repairs.proved) {
      const auto changed = spec::compile({"repaired.ripe", repair.program});
      ASSERT_TRUE(changed.ok()) << repair.program;
      EXPECT_EQ(verify::verify(changed.value()).outcome, verify::Outcome::proved) << repair.program;
      has_number = has_number || is_one_number(repair);
    }
    const std::int64_t most = largest_capacity(program.value());
    if (!has_number && !one_number_repairs(source, most)) continue;
    ++repairable;
    by_number += has_number ? 1 : 0;
    repaired += repairs.proved.empty() ? 0 : 1;
    EXPECT_FALSE(repairs.proved.empty() && repairs.note.empty()) << source.text;
  }
  RecordProperty("by_number", by_number);
  EXPECT_GE(100 * repaired, 95 * repairable);
}

}  // namespace
}  // namespace ripeline::optimise
