// When a process notices that nothing happens.
#include "runtime/faults.h"

#include <gtest/gtest.h>

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;

// Whether a task runs here makes no difference: where every rank runs one that does not end, nobody
// else could notice it.
TEST(Stall, is_noticed_after_its_limit_and_not_before) {
  Faults faults(0, {.ranks = 1}, {}, {.stall = 5s});
  faults.resume(10s);
  EXPECT_EQ(faults.look(14s), core::Time(15s)) << "when to look again";
  EXPECT_FALSE(faults.any());
  faults.happened(14s);
  static_cast<void>(faults.look(18s));
  EXPECT_FALSE(faults.any());
  static_cast<void>(faults.look(19s));
  EXPECT_TRUE(faults.any());
  EXPECT_TRUE(faults.owes_report());
}

}  // namespace
}  // namespace ripeline::runtime
