// Repairs of random programs, against every change of one number that leaves room: a brute force of
// its own, over ops, resources and numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "optimise/repair.h"
#include "spec/elaborate.h"
#include "spec/parse.h"
#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::verify {
namespace {

namespace ast = spec::ast;

constexpr int kPrograms = 20;  // that one number repairs
constexpr VerifyOptions kJudging{
    .solver_steps = 4'000'000, .search_states = 20'000, .find_runs = false};

const testing_support::RandomProgramOptions kSmall{
    .max_ranks = 3, .max_chunks = 2, .max_tasks = 40, .orders = false, .assertions = false};

bool is_proved(const ast::Pipeline& tree, const spec::Source& source) {
  const auto program = spec::elaborate(tree, source, {});
  return program.ok() && verify(program.value(), kJudging).outcome == Outcome::proved;
}

std::int64_t largest_capacity(const spec::Program& program) {
  std::int64_t largest = 0;
  for (const spec::Pool& pool : program.pools) {
    largest = std::max(largest, pool.capacity.value_or(0));
  }
  return largest;
}

// Some op that leaves some number of some resource, where nothing else is changed.
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

TEST(RepairRandom, what_one_number_repairs_is_repaired_and_what_is_offered_is_proved) {
  int repairable = 0;
  int repaired = 0;
  int by_leaving = 0;
  for (std::uint64_t seed = 1; repairable < kPrograms; ++seed) {
    const std::string text = testing_support::random_program_text(seed, kSmall);
    const spec::Source source{"random.ripe", text};
    const auto program = spec::compile(source);
    ASSERT_TRUE(program.ok()) << text;
    const Verdict verdict = verify(program.value());
    if (verdict.outcome != Outcome::refuted) continue;
    const Repairs repairs = find_repairs(source, {}, program.value(), verdict);
    for (const ProvedRepair& repair : repairs.proved) {
      const auto changed = spec::compile({"repaired.ripe", repair.program});
      ASSERT_TRUE(changed.ok()) << repair.program;
      EXPECT_EQ(verify(changed.value()).outcome, Outcome::proved) << repair.program;
    }
    if (!one_number_repairs(source, largest_capacity(program.value()))) continue;
    ++repairable;
    if (repairs.proved.empty()) {
      std::cout << "seed " << seed << " has no repair: " << repairs.note << "\n";
      continue;
    }
    ++repaired;
    for (const ProvedRepair& repair : repairs.proved) {
      if (repair.what.find("leaving") == std::string::npos) continue;
      ++by_leaving;
      break;
    }
  }
  std::cout << repaired << " of " << repairable << " repaired, " << by_leaving << " by `leaving`\n";
  EXPECT_GE(100 * repaired, 95 * repairable);
}

}  // namespace
}  // namespace ripeline::verify
