// Tests that a new file appears complete or not at all, and that the old file stays until then.
#include "files/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/runtime/ranks.h"
#include "tests/support/scarce.h"

namespace ripeline::files {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class NewFileTest : public testing::Test {
 protected:
  NewFileTest() : folder_(temporary_.path()), path_(folder_ + "/a.json") {}

  // Writes 100 KiB over a good file. Returns the message, the text in the file afterwards, and the
  // number of files in the folder.
  [[nodiscard]] std::string overwrite() const {
    std::ofstream(path_) << "good";
    const core::Status status = write_file(path_, std::string(100 << 10, 'x'));
    return status.message() + " | " + text_of(path_) + " | " + std::to_string(files());
  }
  [[nodiscard]] long files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  testing_support::TemporaryFolder temporary_;
  std::string folder_;
  std::string path_;
};

TEST_F(NewFileTest, takes_its_place_when_it_is_put_there) {
  std::ofstream(path_) << "good";
  NewFile file(path_);
  file.write("be");
  file.write("tter");
  EXPECT_EQ(text_of(path_), "good");
  EXPECT_EQ(file.put().message(), "");
  EXPECT_EQ(text_of(path_), "better");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, that_is_dropped_leaves_nothing) {
  {
    NewFile file(path_);
    file.write("half");
    EXPECT_EQ(files(), 1) << "beside its place";
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFileTest, keeps_the_permissions_and_the_links_of_the_old_one) {
  std::ofstream(path_) << "good";
  fs::permissions(path_, fs::perms::owner_all);
  const std::string link = folder_ + "/link";
  fs::create_symlink("a.json", link);
  ASSERT_TRUE(write_file(link, "better").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(path_), "better");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
}

TEST_F(NewFileTest, of_two_at_once_is_one_whole) {
  NewFile one(path_);
  NewFile two(path_);
  one.write("one");
  two.write("two");
  EXPECT_TRUE(two.put().ok());
  EXPECT_TRUE(one.put().ok());
  EXPECT_EQ(text_of(path_), "one");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, that_grows_too_large_leaves_the_old_one) {
  const auto said = testing_support::with_small_files(8 << 10, [this] { return overwrite(); });
  if (!said) GTEST_SKIP() << "no limit can be set";
  EXPECT_EQ(*said, path_ +
                       ": cannot be written: File too large; the old file is still there"
                       " | good | 1");
}

TEST_F(NewFileTest, on_a_full_disk_leaves_the_old_one) {
  const auto said =
      testing_support::with_file_system(folder_, "size=64k", [this] { return overwrite(); });
  if (!said) GTEST_SKIP() << "no file system can be mounted";
  EXPECT_EQ(*said, path_ +
                       ": cannot be written: No space left on device; the old file is still "
                       "there | good | 1");
}

TEST_F(NewFileTest, without_inodes_leaves_the_old_one) {
  // The file system has two inodes: one for its root and one for the old file.
  const auto said =
      testing_support::with_file_system(folder_, "nr_inodes=2", [this] { return overwrite(); });
  if (!said) GTEST_SKIP() << "no file system can be mounted";
  EXPECT_EQ(*said, path_ +
                       ": cannot be written: No space left on device; the old file is still "
                       "there | good | 1");
}

TEST_F(NewFileTest, does_not_replace_what_may_not_be_written) {
  std::ofstream(path_) << "good";
  fs::permissions(path_, fs::perms::owner_read | fs::perms::others_read);
  fs::permissions(folder_, fs::perms::all);
  const auto write = [this] { return write_file(path_, "better").message(); };
  auto said = testing_support::without_rights(write);
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, path_ + ": cannot be written: Permission denied; the old file is still there");
  EXPECT_EQ(text_of(path_), "good");

  fs::permissions(path_, fs::perms::all);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  said = testing_support::without_rights(write);
  EXPECT_EQ(*said, path_ + ": cannot be written: Permission denied; the old file is still there");
  EXPECT_EQ(text_of(path_), "good");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(NewFileTest, says_what_is_wrong_with_its_place) {
  EXPECT_EQ(write_file(folder_, "").message(), folder_ + ": cannot be written: Is a directory");
  EXPECT_EQ(write_file("/nowhere/a", "").message(),
            "/nowhere/a: cannot be written: No such file or directory");
  EXPECT_EQ(NewFile("/nowhere/a").status().code(), core::StatusCode::failed);
  EXPECT_TRUE(NewFile(path_).status().ok());
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFileTest, that_is_no_plain_file_is_written_to_as_it_is) {
  EXPECT_TRUE(write_file("/dev/null", "text").ok());
  EXPECT_EQ(write_file("/dev/full", "text").message(),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const std::string link = folder_ + "/full";
  fs::create_symlink("/dev/full", link);
  EXPECT_THAT(write_file(link, "text").message(), HasSubstr("No space left"));
  EXPECT_TRUE(fs::is_symlink(link));
}

}  // namespace
}  // namespace ripeline::files
