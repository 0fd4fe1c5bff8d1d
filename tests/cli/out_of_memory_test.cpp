// Tests steps that do not fit into memory: they are refused beforehand, or fail with a message.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/cli/program.h"

namespace {

using OutOfMemory = CliTest;

constexpr const char* kRefused =
    "GB of memory, and at most 8 GB are taken: the most microbatches "
    "that fit are -m ";

TEST_F(OutOfMemory, is_foreseen_for_a_step_that_cannot_be_held) {
  for (const char* arguments :
       {"simulate bf -m 1000000000", "emulate bf --unit 1us -m 1000000000", "show bf -m 1000000000",
        "compare bf bfw -m 1000000000", "why bf 0F0 -m 1000000000", "step bf -m 1000000000",
        "export bf -m 1000000000 -o x.csv"}) {
    const Outcome outcome = ripeline(arguments, "2>&1", 10);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.out.find(kRefused), std::string::npos) << arguments << outcome.out;
  }
}

// The limit on a rank's order is separate, and a microbatch counts as two tasks.
TEST_F(OutOfMemory, is_foreseen_for_an_order_that_is_too_long) {
  for (const char* command : {"simulate", "show", "emulate --unit 1us"}) {
    const Outcome outcome = ripeline(std::string(command) + " 1f1b -m 1000000000", "2>&1", 10);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.out.find("use fewer microbatches: the most are -m 5000000\n"),
              std::string::npos)
        << outcome.out;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// `ulimit -v` limits the address space of the process, in KiB.
TEST_F(OutOfMemory, is_no_defect) {
  for (const char* arguments : {"simulate bf -m 300000", "why bf 0F0 -m 300000",
                                "show bf -m 300000", "compare bf bf -m 300000"}) {
    const Outcome outcome = shell(
        std::string("ulimit -v 250000; timeout 60 " RIPELINE_PROGRAM " ") + arguments + " 2>&1");
    EXPECT_EQ(outcome.exit_code, 4) << arguments << outcome.out;
    EXPECT_NE(outcome.out.find("ripeline: not enough memory"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("defect"), std::string::npos) << outcome.out;
  }
}
#endif

}  // namespace
