// Tests bounds of the uniform problem: against published and proved optima, and against the optimum
// of each tiny problem that is drawn.
#include "optimise/bounds/bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <random>
#include <string>

#include "tests/optimise/every_order.h"

namespace ripeline::optimise {
namespace {

struct Row {
  int ranks, microbatches;
  std::int64_t forward, input, weight, latency;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << "(" << row.ranks << "," << row.microbatches << "," << row.forward << ","
               << row.input << "," << row.weight << "," << row.latency << ")";
  }
};

Uniform chain(const Row& row, int memory) {
  return {.ranks = row.ranks,
          .microbatches = row.microbatches,
          .forward = row.forward,
          .input = row.input,
          .weight = row.weight,
          .latency = row.latency,
          .memory = memory};
}

Uniform v(const Row& row, int memory) {
  Uniform problem = chain(row, memory);
  problem.placement = pytorch::Placement::v;
  return problem;
}

// The bound minus a rank's work.
std::int64_t bubble(const Uniform& u, Objective objective) {
  const std::int64_t stages = u.placement == pytorch::Placement::v ? 2 : 1;
  return lower_bound(u, objective).value -
         stages * u.microbatches * (u.forward + u.input + u.weight);
}

constexpr Row kSmall8 = {8, 24, 18522, 18086, 9337, 601};
constexpr Row kMiddle8 = {8, 32, 18513, 18086, 9331, 626};
constexpr Row kLong8 = {8, 64, 18546, 18097, 9321, 762};
constexpr Row kLarge8 = {8, 24, 29718, 29444, 19927, 527};
constexpr Row k16 = {16, 48, 11347, 11248, 8132, 377};
constexpr Row kLong16 = {16, 64, 11307, 11254, 8101, 379};
constexpr Row k32 = {32, 96, 10419, 10207, 7715, 408};
constexpr Row kMiddle32 = {32, 128, 10408, 10204, 7703, 408};
constexpr Row kLong32 = {32, 256, 10402, 10248, 7698, 460};
constexpr Row kShort = {8, 16, 24, 23, 12, 1};

// Schedules with these values are known, so the bound is the optimum.
TEST(Bounds, are_the_optimum_from_as_many_activations_as_ranks_on) {
  struct Optimum {
    Row row;
    int memory;
    std::int64_t makespan, span;
  };
  const Optimum optima[] = {
      {kSmall8, 8, 207'725, 207'725},
      {kSmall8, 9, 189'974, 189'974},
      {kSmall8, 10, 180'637, 180'637},
      {kSmall8, 12, 161'963, 161'963},
      {kSmall8, 15, 133'952, 133'952},
      {kMiddle8, 8, 208'404, 208'404},
      {kMiddle8, 9, 190'309, 190'309},
      {kMiddle8, 10, 180'978, 180'978},
      {kMiddle8, 12, 162'316, 162'316},
      {kMiddle8, 15, 134'323, 134'323},
      {kLong8, 8, 212'590, 212'590},
      {kLong8, 9, 192'601, 192'601},
      {kLong8, 10, 183'280, 183'280},
      {kLong8, 12, 164'638, 164'638},
      {kLong8, 15, 136'675, 136'675},
      {kLarge8, 8, 289'401, 289'401},
      {kLarge8, 9, 262'096, 262'096},
      {kLarge8, 10, 242'169, 242'169},
      {kLarge8, 12, 211'715, 202'315},
      {kLarge8, 15, 211'715, 142'534},
      {k16, 16, 239'565, 239'565},
      {k16, 20, 195'727, 195'727},
      {k16, 24, 175'860, 163'199},
      {k16, 31, 175'860, 106'275},
      {kLong16, 16, 239'640, 239'640},
      {kLong16, 20, 195'866, 195'866},
      {kLong16, 24, 175'290, 163'462},
      {kLong16, 31, 175'290, 106'755},
      {k32, 32, 450'833, 450'833},
      {k32, 40, 363'817, 363'817},
      {k32, 48, 335'637, 302'097},
      {k32, 63, 335'637, 186'372},
      {kMiddle32, 32, 450'771, 450'771},
      {kMiddle32, 40, 363'851, 363'851},
      {kMiddle32, 48, 335'296, 302'227},
      {kMiddle32, 63, 335'296, 186'682},
      {kLong32, 32, 458'552, 458'552},
      {kLong32, 40, 368'448, 368'448},
      {kLong32, 48, 336'722, 306'864},
      {kLong32, 63, 336'722, 191'394},
      {kShort, 15, 175, 175},
      {kShort, 14, 187, 187},
      {kShort, 13, 199, 199},
      {kShort, 12, 211, 211},
      {kShort, 11, 223, 223},
      {kShort, 10, 235, 235},
      {kShort, 9, 247, 247},
      {kShort, 8, 273, 273},
      {{8, 16, 1, 1, 1, 0}, 8, 7, 7},
      {{8, 64, 1, 1, 1, 0}, 9, 7, 6},
      {{4, 8, 1, 1, 1, 0}, 5, 3, 2},
      {{4, 8, 1, 1, 1, 0}, 6, 3, 1},
      {{4, 8, 1, 1, 1, 0}, 7, 3, 0},
      {{4, 8, 1, 1, 1, 0}, 8, 3, 0},
  };
  for (const Optimum& optimum : optima) {
    const Uniform problem = chain(optimum.row, optimum.memory);
    EXPECT_EQ(bubble(problem, Objective::makespan), optimum.makespan)
        << optimum.row << " with " << optimum.memory;
    EXPECT_EQ(bubble(problem, Objective::span), optimum.span)
        << optimum.row << " with " << optimum.memory;
  }
}

// The bubble, by makespan, of the best known schedule and of the bound. If they differ, each may
// differ from the optimum.
TEST(Bounds, are_near_the_best_schedules_below) {
  struct Known {
    Row row;
    int memory;
    std::int64_t best, bound;
  };
  const Known known[] = {
      {kShort, 7, 332, 332},
      {kShort, 6, 469, 439},
      {kShort, 5, 664, 664},
      {kShort, 4, 901, 841},
      {kShort, 3, 1468, 1468},
      {{8, 24, 24, 23, 12, 1}, 7, 365, 332},
      {{8, 24, 24, 23, 12, 1}, 6, 559, 487},
      {{8, 24, 24, 23, 12, 1}, 5, 861, 771},
      {{8, 24, 24, 23, 12, 1}, 4, 1293, 1173},
      {{8, 64, 1, 1, 1, 0}, 7, 10, 10},
      {{8, 64, 1, 1, 1, 0}, 6, 13, 13},
      {{8, 16, 18546, 18097, 9321, 762}, 6, 365'258, 341'867},
      {kSmall8, 7, 313'020, 253'670},
      {kSmall8, 6, 428'115, 369'505},
      {kSmall8, 5, 672'909, 588'230},
      {kSmall8, 4, 996'465, 898'845},
      {kLong8, 7, 423'804, 258'554},
      {kLong8, 6, 885'674, 640'659},
      {kLong8, 5, 1'577'494, 1'266'925},
      {kLong8, 4, 2'533'798, 2'206'324},
      {k16, 14, 328'013, 301'019},
      {k16, 12, 465'003, 386'949},
      {k16, 10, 707'547, 645'003},
      {k16, 8, 1'140'784, 1'025'965},
      {kLong16, 14, 341'160, 300'964},
      {kLong32, 31, 616'178, 486'900},
      {kLong32, 28, 881'198, 571'944},
      {kLong32, 24, 1'483'454, 835'330},
  };
  for (const Known& k : known) {
    const Uniform problem = chain(k.row, k.memory);
    EXPECT_EQ(bubble(problem, Objective::makespan), k.bound) << k.row << " with " << k.memory;
    EXPECT_LE(bubble(problem, Objective::span), k.bound) << k.row << " with " << k.memory;
    EXPECT_LE(k.bound, k.best) << k.row << " with " << k.memory;
    const auto work =
        static_cast<double>(lower_bound(problem, Objective::makespan).value - k.bound);
    const double gap = static_cast<double>(k.best - k.bound);
    EXPECT_LE(gap, .075 * (work + static_cast<double>(k.best))) << k.row << " with " << k.memory;
  }
}

// The costs and the memory are those of a chunk.
TEST(Bounds, are_near_the_best_schedules_of_a_v_placement) {
  struct Known {
    Row row;
    int memory;
    std::int64_t best, bound;
  };
  const Known known[] = {
      {{4, 8, 12, 11, 6, 1}, 8, 45, 45},     {{4, 8, 12, 11, 6, 1}, 7, 74, 74},
      {{4, 8, 12, 11, 6, 1}, 6, 103, 103},   {{4, 8, 12, 11, 6, 1}, 5, 152, 132},
      {{4, 8, 12, 11, 6, 1}, 4, 211, 161},   {{8, 24, 12, 11, 6, 1}, 16, 113, 113},
      {{8, 24, 12, 11, 6, 1}, 12, 229, 229}, {{8, 24, 12, 11, 6, 1}, 10, 288, 287},
      {{8, 24, 12, 11, 6, 1}, 8, 461, 345},
  };
  for (const Known& k : known) {
    EXPECT_EQ(bubble(v(k.row, k.memory), Objective::makespan), k.bound)
        << k.row << " with " << k.memory;
    EXPECT_LE(k.bound, k.best) << k.row << " with " << k.memory;
  }
  const Known by_span[] = {
      {{3, 6, 1, 1, 1, 0}, 3, 16, 8},
      {{3, 6, 1, 1, 1, 0}, 4, 5, 5},
      {{3, 6, 1, 1, 1, 0}, 5, 3, 2},
      {{3, 6, 1, 1, 1, 0}, 6, 0, 0},
  };
  for (const Known& k : by_span) {
    EXPECT_EQ(bubble(v(k.row, k.memory), Objective::span), k.bound)
        << k.row << " with " << k.memory;
  }
}

TEST(Bounds, say_which_formula_and_rank_they_are_of) {
  const auto by = [](const Uniform& problem, Objective objective = Objective::makespan) {
    return lower_bound(problem, objective).by;
  };
  EXPECT_EQ(by(chain({1, 4, 1, 1, 1, 0}, 1)), "work of rank 0");
  EXPECT_EQ(by(chain({4, 8, 1, 1, 1, 0}, 8)), "head of rank 3");
  EXPECT_EQ(by(chain({4, 8, 1, 1, 1, 0}, 8), Objective::span), "work of rank 0");
  EXPECT_EQ(by(chain({8, 16, 24, 23, 12, 1}, 8)), "head+tail of rank 0");
  EXPECT_EQ(by(chain({8, 16, 24, 23, 12, 1}, 3)), "cycle of rank 0");
  EXPECT_EQ(by(chain({4, 8, 9, 9, 1, 3}, 8)), "head+drain of rank 3");
  EXPECT_EQ(by(v({2, 8, 1, 1, 1, 9}, 2)), "room of rank 1");
}

// RIPELINE_SEED and RIPELINE_CASES choose the drawn problems and their number.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  // A V placement gets room for at least two chunks, since otherwise no step can end.
  testing_support::TinyProblem problem(bool by_span) {
    const int most = by_span ? 2 : 4;
    testing_support::TinyProblem p{.v = between(0, 1) == 1, .ranks = between(1, by_span ? 2 : 3)};
    p.forward = between(1, most);
    p.input = between(1, most);
    p.weight = between(1, most);
    p.latency = between(0, most - 1);
    p.microbatches = between(1, p.v ? (p.ranks == 1 ? 4 : p.ranks == 2 ? 2 : 1) : by_span ? 3 : 4);
    p.memory = p.v ? between(2, 2 * p.ranks + 1) : between(1, p.ranks + 2);
    return p;
  }

 private:
  std::mt19937_64 random_;
};

Uniform uniform_of(const testing_support::TinyProblem& p) {
  const Row row{p.ranks, p.microbatches, p.forward, p.input, p.weight, p.latency};
  const int memory = static_cast<int>(p.memory);
  return p.v ? v(row, memory) : chain(row, memory);
}

// The number of problems whose bound is their optimum.
int exact(std::uint64_t seed, int cases, Objective objective) {
  const bool by_span = objective == Objective::span;
  Draws draws(seed);
  int reached = 0;
  for (int i = 0; i < cases; ++i) {
    const testing_support::TinyProblem problem = draws.problem(by_span);
    const auto optimum = by_span ? least_span(problem) : least_makespan(problem);
    const Uniform uniform = uniform_of(problem);
    const Bound bound = lower_bound(uniform, objective);
    if (!optimum) {
      ADD_FAILURE() << "no order of case " << i << " of seed " << seed;
      continue;
    }
    EXPECT_LE(bound.value, *optimum)
        << bound.by << (problem.v ? ", v " : ", chain ")
        << Row{problem.ranks, problem.microbatches, problem.forward,
               problem.input, problem.weight,       problem.latency}
        << " with " << problem.memory << ", case " << i << " of seed " << seed;
    reached += bound.value == *optimum ? 1 : 0;
  }
  return reached;
}

TEST(Bounds, are_never_above_the_optimum_of_a_tiny_problem) {
  const std::uint64_t seed = from_environment("RIPELINE_SEED", 1);
  const auto cases = static_cast<int>(from_environment("RIPELINE_CASES", 400));
  RecordProperty("seed", std::to_string(seed));
  EXPECT_GE(exact(seed, cases, Objective::makespan), cases * 9 / 10) << "seed " << seed;
  EXPECT_GE(exact(seed + 1, cases / 8, Objective::span), cases / 8 * 4 / 5) << "seed " << seed;
}

}  // namespace
}  // namespace ripeline::optimise
