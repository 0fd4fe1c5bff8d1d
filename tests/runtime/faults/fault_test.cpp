// Faults of every kind in runs of toy_rank, at moments that are drawn; inject_faults goes on for as
// long as one likes.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"
#include "tests/runtime/faults/fault_run.h"

namespace ripeline::faults {
namespace {

constexpr int kOfEachKind = 3;

class FaultTest : public testing::TestWithParam<FaultKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, FaultTest,
                         testing::ValuesIn(fault_kinds().begin(), fault_kinds().end()),
                         [](const auto& each) { return each.param.name; });

TEST_P(FaultTest, ends_the_run_and_leaves_nothing_behind) {
  const char* given = std::getenv("RIPELINE_SEED");
  const std::uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (int i = 0; i < (given != nullptr ? 1 : kOfEachKind); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const FaultReport report = inject(GetParam(), seed);
    EXPECT_EQ(report.problem, "") << "RIPELINE_SEED=" << seed << ", after " << report.seconds
                                  << " s";
  }
}

}  // namespace
}  // namespace ripeline::faults
