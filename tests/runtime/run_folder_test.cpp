// Tests which folders of earlier runs the next run removes, and which folders it keeps.
#include "runtime/launcher/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/runtime/ranks.h"

namespace ripeline::runtime::launcher {
namespace {

using namespace std::chrono_literals;

TEST(RunFolder, goes_with_the_next_run_if_nobody_holds_it) {
  const testing_support::TemporaryFolder all;
  const auto path = [&](const std::string& name) { return all.path() + "/" + name; };
  const auto make = [&](const std::string& name) { return make_run_folder(path(name)); };
  const int held = make("ripeline-run-1");
  for (const char* name : {"ripeline-run-2", "ripeline-run-3", "ripeline-run-mine", "another"}) {
    const int descriptor = make(name);
    EXPECT_GE(descriptor, 0) << name;
    std::ofstream(path(name) + "/socket-0") << "left";
    close(descriptor);
  }
  EXPECT_EQ(make("ripeline-run-2"), -1) << "it is there";
  for (const auto& entry : std::filesystem::directory_iterator(all.path())) {
    if (entry.path().filename() != "ripeline-run-3")
      std::filesystem::last_write_time(entry.path(),
                                       std::filesystem::file_time_type::clock::now() - 2min);
  }
  remove_abandoned_folders(path("ripeline-run-4"));
  EXPECT_TRUE(std::filesystem::exists(path("ripeline-run-1"))) << "it is held";
  EXPECT_FALSE(std::filesystem::exists(path("ripeline-run-2")));
  EXPECT_TRUE(std::filesystem::exists(path("ripeline-run-3"))) << "it was made a moment ago";
  EXPECT_TRUE(std::filesystem::exists(path("ripeline-run-mine"))) << "it is no run's";
  EXPECT_TRUE(std::filesystem::exists(path("another")));
  close(held);
  remove_abandoned_folders(path("ripeline-run-4"));
  EXPECT_FALSE(std::filesystem::exists(path("ripeline-run-1")));
}

}  // namespace
}  // namespace ripeline::runtime::launcher
