// Names that macros of the standard headers have taken, and names that become one when joined, in a
// header that CMake generated and validated for this program: that it compiles is the test.
#include <cassert>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>

#include <gtest/gtest.h>

#include "names.h"

namespace ripeline::codegen {
namespace {

TEST(Names, of_macros_and_joined_ones_compile_and_mean_themselves) {
  EXPECT_EQ(names::facts.ops[static_cast<std::size_t>(names::ops::kEOF)].name, "EOF");
  EXPECT_EQ(names::facts.ops[static_cast<std::size_t>(names::ops::kint)].name, "int");
  EXPECT_EQ(names::kAmount_EOF_a_b[2], 3);    // acquired of a_b by EOF
  EXPECT_EQ(names::kAmount_EOF_a_b_2[2], 4);  // acquired of b by EOF_a
}

}  // namespace
}  // namespace ripeline::codegen
