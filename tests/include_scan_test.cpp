#include "tests/include_scan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/source_tree.h"

namespace ripeline::include_scan {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(IncludeScan, the_tree_keeps_the_direction) {
  const std::string root = RIPELINE_SOURCE_DIR;
  const std::vector<std::string> files = testing_support::source_files(root);
  EXPECT_GT(files.size(), 20U) << "the scan found too few sources under " << root;
  for (const std::string& file : files) {
    for (const Violation& violation : scan(file, read(root + "/" + file))) {
      ADD_FAILURE() << to_string(violation);
    }
  }
}

std::string first_include(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include ")) return line.substr(9);
  }
  return {};
}

// The header states the contract of just that source. A program has no callers; what a command of
// `ripeline` promises stands in cli/commands.h, and a header of libc declares what cmake/archive
// defines.
TEST(IncludeScan, every_source_begins_with_a_header_of_its_own) {
  const std::string root = RIPELINE_SOURCE_DIR;
  const std::regex has_none(
      "(tests|proptests|bench|fuzz|examples|demo|docs|cmake)/.*|cli/"
      "(main|launch_main|[a-z_]+_commands?)\\.cpp|optimise/solver/solver_main\\.cpp");
  int checked = 0;
  for (const std::string& file : testing_support::source_files(root)) {
    if (!file.ends_with(".cpp") || std::regex_match(file, has_none)) continue;
    const std::string header = file.substr(0, file.size() - 4) + ".h";
    EXPECT_EQ(first_include(read(root + "/" + file)), '"' + header + '"') << file;
    ++checked;
  }
  EXPECT_GT(checked, 150);
}

struct Case {
  const char* file;
  const char* include;
  bool allowed;
};

TEST(IncludeScan, every_rule_of_the_table) {
  const std::vector<Case> cases = {
      {"core/executor.h", "<vector>", true},
      {"core/executor.h", "\"core/arbiter.h\"", true},
      {"core/executor.cpp", "\"spec/program.h\"", false},
      {"core/executor.cpp", "<fmt/format.h>", false},
      {"core/executor.cpp", "<thread>", false},
      {"core/executor.cpp", "<unistd.h>", false},
      {"spec/program.h", "<fmt/format.h>", true},
      {"spec/program.h", "<boost/spirit/home/x3.hpp>", false},
      {"spec/parse.cpp", "<boost/spirit/home/x3.hpp>", true},
      {"spec/parse_test_support.cpp", "<boost/spirit/home/x3.hpp>", false},
      {"spec/machine.cpp", "\"core/vocabulary/task.h\"", true},
      {"spec/machine.cpp", "\"core/arbiter.h\"", false},
      {"core/vocabulary/task.h", "\"core/arbiter.h\"", false},
      {"spec/machine.cpp", "\"verify/verify.h\"", false},
      {"verify/solver/solver.cpp", "<z3++.h>", true},
      {"verify/solver/solver.cpp", "<z3.h>", true},
      {"verify/deadlock.cpp", "<z3++.h>", false},
      {"verify/deadlock.cpp", "\"spec/machine.h\"", true},
      {"verify/deadlock.cpp", "\"codegen/generate.h\"", false},
      {"verify/deadlock.cpp", "<torch/torch.h>", false},
      {"codegen/generate.cpp", "\"verify/proved_program.h\"", true},
      {"codegen/generate.cpp", "\"verify/verify.h\"", false},
      {"simulate/interpreter.cpp", "\"core/executor.h\"", true},
      {"simulate/interpreter.cpp", "\"runtime/worker.h\"", false},
      {"runtime/worker.cpp", "\"core/executor.h\"", true},
      {"runtime/worker.cpp", "\"spec/program.h\"", false},
      {"runtime/worker.cpp", "<asio.hpp>", false},
      {"runtime/worker.cpp", "\"runtime/torch/stage.h\"", false},
      {"runtime/worker.cpp", "<nlohmann/json.hpp>", false},
      {"runtime/worker.cpp", "<fmt/format.h>", false},
      {"files/new_file.cpp", "<fcntl.h>", true},
      {"files/new_file.cpp", "\"trace/record.h\"", false},
      {"trace/about.cpp", "<nlohmann/json.hpp>", true},
      {"trace/read.cpp", "<nlohmann/json.hpp>", true},
      {"trace/write.cpp", "<nlohmann/json.hpp>", false},
      {"trace/read.cpp", "\"spec/program.h\"", false},
      {"runtime/transport/socket.cpp", "<asio.hpp>", true},
      {"runtime/transport/socket.cpp", "<sys/socket.h>", true},
      {"runtime/transport/socket.cpp", "<torch/torch.h>", false},
      {"runtime/transport/socket.cpp", "<ucp/api/ucp.h>", false},
      {"runtime/transport/ucx_transport.cpp", "<ucp/api/ucp.h>", false},
      {"runtime/transport/ucx_worker.cpp", "<ucp/api/ucp.h>", true},
      {"runtime/torch/stage.cpp", "<torch/torch.h>", true},
      {"runtime/torch/stage.cpp", "<asio.hpp>", false},
      {"runtime/torch/stage.cpp", "<fmt/format.h>", false},
      {"cli/main.cpp", "<CLI/CLI.hpp>", true},
      {"cli/main.cpp", "\"runtime/torch/stage.h\"", false},
      {"cli/launch_main.cpp", "\"runtime/launch.h\"", true},
      {"cli/launch_main.cpp", "\"spec/program.h\"", false},
      {"cmake/archive/arc4random.cpp", "<sys/random.h>", true},
      {"cmake/archive/arc4random.cpp", "\"core/executor.h\"", false},
      {"tests/oracle/oracle.cpp", "\"spec/program.h\"", true},
      {"tests/oracle/oracle.cpp", "\"spec/machine.h\"", false},
      {"tests/oracle/oracle.cpp", "\"verify/verify.h\"", false},
      {"tests/spec_test.cpp", "<boost/spirit/home/x3.hpp>", false},
      {"tests/torch/stage_test.cpp", "<fmt/format.h>", false},
      {"fuzz/fuzz_parse.cpp", "\"spec/parse.h\"", true},
      {"fuzz/fuzz_parse.cpp", "\"verify/verify.h\"", false},
      {"examples/gpt/main.cpp", "\"bf.h\"", true},
      {"examples/gpt/main.cpp", "\"runtime/torch/stage.h\"", true},
      {"examples/gpt/main.cpp", "\"spec/program.h\"", false},
      {"examples/vlm/image.cpp", "<png.h>", true},
      {"runtime/worker.cpp", "<png.h>", false},
      {"elsewhere/new.cpp", "<vector>", false},
      {"core/executor.cpp", "<some/unknown.h>", false},
  };
  for (const Case& c : cases) {
    const std::string text = std::string("#include ") + c.include + "\n";
    EXPECT_EQ(scan(c.file, text).empty(), c.allowed) << c.file << " " << c.include;
  }
}

TEST(IncludeScan, a_planted_violation_is_named_with_its_line_and_rule) {
  const std::string text =
      "// #include \"spec/program.h\" in a comment is none.\n"
      "#pragma once\n"
      "  #  include \"verify/verify.h\"  // here\n";
  const std::vector<Violation> violations = scan("core/ledger.h", text);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(to_string(violations[0]),
            "core/ledger.h:3: includes verify/verify.h; the rule of core/: of this tree it may "
            "include core/");
}

}  // namespace
}  // namespace ripeline::include_scan
