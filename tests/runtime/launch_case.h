// The fixture and helpers that the tests of the launcher share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/launched.h"

namespace ripeline::runtime::launcher {

class LaunchTest : public testing::Test {
 protected:
  void start(const std::vector<std::string>& arguments) { launched_.start(arguments); }
  int wait() {
    const int code = launched_.wait();
    EXPECT_NE(code, testing_support::Launched::kHangs) << "it still runs and said:\n" << output();
    return code;
  }
  int launch(const std::vector<std::string>& arguments) {
    start(arguments);
    return wait();
  }
  std::string output() const { return launched_.output(); }
  long count(const std::string& part) const { return launched_.count(part); }
  std::string output_of(int rank) const { return launched_.output_of(rank); }
  void wait_for(const std::string& part, int lines) const {
    ASSERT_TRUE(testing_support::becomes_true([&] { return count(part) == lines; })) << output();
  }

  void start_toy(int ranks, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", RIPELINE_TOY_RANK, "bf", "100000", "1"});
    start(words);
    wait_for("] running", ranks);
  }

  void expect_nothing_left() { EXPECT_EQ(launched_.left_behind(), ""); }

  testing_support::Launched launched_;
};

// The arguments of a launch whose ranks all run this script of the shell.
inline std::vector<std::string> shell(int ranks, const std::string& script,
                                      std::vector<std::string> options = {}) {
  options.insert(options.end(), {"-n", std::to_string(ranks), "--", "sh", "-c", script});
  return options;
}

}  // namespace ripeline::runtime::launcher
