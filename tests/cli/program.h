// Runs the program `ripeline` in a folder of its own, for tests of what users see.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.h"

struct Outcome {
  int exit_code;  // -1 if a signal ended it
  std::string out;
};

// A redirection for CliTest::ripeline() that drops standard error and keeps standard output.
inline constexpr const char* kOutputAlone = "2> /dev/null";

class CliTest : public testing::Test {
  const ripeline::testing_support::TemporaryFolder temporary_;

 protected:
  // Runs `ripeline ARGUMENTS` in the test's folder for at most `seconds`. By default standard error
  // is appended to `out`; another redirection can drop it.
  Outcome ripeline(const std::string& arguments, const std::string& redirect = "2>&1",
                   int seconds = 60) {
    return shell("timeout " + std::to_string(seconds) + " " RIPELINE_PROGRAM " " + arguments + " " +
                 redirect);
  }
  // Runs a command line of the shell in the test's folder.
  Outcome shell(const std::string& line) {
    const std::string command = "cd '" + folder_.string() + "' && " + line;
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    std::array<char, 4096> buffer;
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      out.append(buffer.data(), n);
    }
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
  }

  // Writes a file; makes the folders of its path.
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_ = temporary_.path();
};
