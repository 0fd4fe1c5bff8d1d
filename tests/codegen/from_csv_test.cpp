// A schedule of PyTorch in ripeline_add_schedule(): its arbiter is the file's order, compared with
// it when the tests are built.
#include <gtest/gtest.h>

#include "from_csv.h"

namespace ripeline::codegen {
namespace {

TEST(FromCsv, is_for_the_ranks_and_microbatches_of_the_file) {
  EXPECT_EQ(from_csv::facts.ranks, 2);
  EXPECT_EQ(from_csv::facts.min_microbatches, 2);
  EXPECT_EQ(from_csv::facts.max_microbatches, 2);
  EXPECT_TRUE(from_csv::facts.proved);
}

}  // namespace
}  // namespace ripeline::codegen
