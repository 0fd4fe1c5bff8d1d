// Tests that setup/format.sh formats every source of the tree, so no folder can be forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/runtime/ranks.h"
#include "tests/support/source_tree.h"

namespace ripeline {
namespace {

namespace fs = std::filesystem;

// The files that the tree's format.sh passes to the formatter.
std::vector<std::string> formatted(const std::string& root) {
  const std::string command = "bash '" + root + "/setup/format.sh' printf '%s\\n'";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0);
  std::vector<std::string> files;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    files.push_back(fs::path(line).lexically_normal().generic_string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Format, is_of_every_source_but_goldens) {
  std::vector<std::string> wanted = testing_support::source_files(RIPELINE_SOURCE_DIR);
  std::erase_if(
      wanted, [](const std::string& file) { return file.find("/goldens/") != std::string::npos; });
  ASSERT_GT(wanted.size(), 20U);
  EXPECT_EQ(formatted(RIPELINE_SOURCE_DIR), wanted);
}

TEST(Format, is_of_a_folder_that_is_new) {
  const testing_support::TemporaryFolder folder;
  const fs::path root = folder.path();
  for (const char* file : {"room/a.cpp", "room/deep/b.h", "c d/build/e.cpp", "room/notes.md",
                           "room/goldens/f.h", "build/g.cpp", ".cache/h.cpp"}) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "int x;\n";
  }
  fs::create_directory(root / "setup");
  fs::copy_file(fs::path(RIPELINE_SOURCE_DIR) / "setup/format.sh", root / "setup/format.sh");
  EXPECT_EQ(formatted(root.string()),
            (std::vector<std::string>{"c d/build/e.cpp", "room/a.cpp", "room/deep/b.h"}));
  EXPECT_EQ(testing_support::source_files(root.string()),
            (std::vector<std::string>{"c d/build/e.cpp", "room/a.cpp", "room/deep/b.h",
                                      "room/goldens/f.h"}));
}

}  // namespace
}  // namespace ripeline
