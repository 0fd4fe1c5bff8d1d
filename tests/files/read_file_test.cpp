// Tests that a file is read completely, whatever its reported size; a failure gives its reason.
#include "files/read_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/ranks.h"

namespace ripeline::files {
namespace {

TEST(ReadFile, gives_all_bytes) {
  const testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  for (const std::size_t size : {0U, 1U, 65'536U, 200'000U}) {
    const std::string written(size, '\0');
    std::ofstream(path, std::ios::binary) << written;
    std::string bytes = "before";
    ASSERT_TRUE(read_file(path, bytes).ok());
    EXPECT_EQ(bytes, written);
  }
}

TEST(ReadFile, gives_all_bytes_of_a_file_without_a_size) {
  std::string bytes;
  ASSERT_TRUE(read_file("/proc/self/status", bytes).ok());
  EXPECT_TRUE(bytes.starts_with("Name:")) << bytes;
}

TEST(ReadFile, says_why_not) {
  std::string bytes = "before";
  EXPECT_EQ(read_file("/no/such/file", bytes).message(), "No such file or directory");
  EXPECT_EQ(read_file("/", bytes).message(), "Is a directory");
  EXPECT_EQ(bytes, "before");
}

}  // namespace
}  // namespace ripeline::files
