// Tests names that macros of the standard headers use, and different names that become equal when
// joined. They are in a header that CMake generated and validated; the test is that it compiles.
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
  EXPECT_EQ(names::kAmount_EOF_a_b[2], 3);    // the amount of a_b that EOF acquires
  EXPECT_EQ(names::kAmount_EOF_a_b_2[2], 4);  // the amount of b that EOF_a acquires
}

}  // namespace
}  // namespace ripeline::codegen
