#include "core/status.h"

#include <gtest/gtest.h>

#include <utility>

namespace ripeline::core {
namespace {

TEST(Status, is_ok_with_no_message_unless_it_says_otherwise) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), StatusCode::ok);
  EXPECT_EQ(Status().message(), "");
  EXPECT_TRUE(Status(StatusCode::ok, "dropped").ok());
  EXPECT_EQ(Status(StatusCode::ok, "dropped").message(), "");
}

TEST(Status, copies_keep_what_they_say) {
  Status failure(StatusCode::lost, "rank 1 went away");
  Status copy = failure;
  const Status moved = std::move(failure);
  EXPECT_EQ(copy.code(), StatusCode::lost);
  EXPECT_EQ(copy.message(), "rank 1 went away");
  EXPECT_EQ(moved.message(), "rank 1 went away");

  copy = Status(StatusCode::timeout, "after 3 s");
  EXPECT_EQ(copy.message(), "after 3 s");
  EXPECT_EQ(moved.message(), "rank 1 went away");

  const Status& itself = copy;
  copy = itself;
  EXPECT_EQ(copy.message(), "after 3 s");
  const Status good;
  copy = good;
  EXPECT_TRUE(copy.ok());
  copy = moved;
  EXPECT_EQ(copy.code(), StatusCode::lost);
}

}  // namespace
}  // namespace ripeline::core
