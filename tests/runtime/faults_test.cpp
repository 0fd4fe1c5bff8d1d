// Tests the faults that a process notices, and its reports of these faults to the others.
#include "runtime/protocol/faults.h"

#include <gtest/gtest.h>

namespace ripeline::runtime::protocol {
namespace {

using namespace std::chrono_literals;

// A running task does not suspend the limit: if it did and every rank ran a task that does not end,
// nobody could notice.
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

// Delivers the reports of process 1 to process 0.
void deliver(Faults& from, Faults& to, core::Time now) {
  for (const Outgoing& out : from.take_outgoing(now)) {
    if (out.to != 0) continue;
    ProcessReport report;
    ASSERT_TRUE(decode_report(out.payload, now, report).ok());
    to.reported(1, report, now);
  }
}

// Process 2 has ended. Process 1 fails for this reason, and reports its failure before its own
// connection breaks. Process 0 has no connection with process 2.
TEST(Reports, of_a_neighbour_that_is_lost_later_go_to_all) {
  const core::Layout layout{.ranks = 3};
  Faults first(0, layout, {1}, {});
  Faults second(1, layout, {0, 2}, {});
  second.hindered({core::StatusCode::lost, "a collective broke"}, 10s);
  second.publish({}, 10s);
  deliver(second, first, 10s);
  first.publish({}, 10s);
  EXPECT_FALSE(first.is_settled(10s)) << "process 2 may answer yet";
  second.lost(2, "connection closed", 10s);
  deliver(second, first, 10s);
  EXPECT_TRUE(first.is_settled(10s));
  EXPECT_EQ(first.outcome({}, 10s).message(), "rank 2 was lost (connection closed)");
}

}  // namespace
}  // namespace ripeline::runtime::protocol
