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

TEST(IncludeScan, the_tree_keeps_the_namespaces_of_its_folders) {
  const std::string root = RIPELINE_SOURCE_DIR;
  for (const std::string& file : testing_support::source_files(root)) {
    for (const std::string& said : scan_namespaces(file, read(root + "/" + file))) {
      ADD_FAILURE() << said;
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

// Each header has the contract of its own source. Exceptions: a program and Python's extension
// module have no callers; cli/commands.h has the contracts of `ripeline`'s commands, and
// codegen/parts.h those of the parts of a generated header; headers of libc and libstdc++ declare
// what cmake/archive defines.
TEST(IncludeScan, every_source_begins_with_a_header_of_its_own) {
  const std::string root = RIPELINE_SOURCE_DIR;
  const std::regex has_none(
      "(tests|proptests|bench|fuzz|examples|demo|docs|cmake)/.*|cli/"
      "(main|launch_main|[a-z_]+_commands?)\\.cpp|optimise/solver/solver_main\\.cpp|"
      "python/module\\.cpp");
  const std::regex is_part("codegen/(admission|tables|(dispatch|order|priority)_text)\\.cpp");
  int checked = 0;
  for (const std::string& file : testing_support::source_files(root)) {
    if (!file.ends_with(".cpp") || std::regex_match(file, has_none)) continue;
    const std::string header = std::regex_match(file, is_part)
                                   ? "codegen/parts.h"
                                   : file.substr(0, file.size() - 4) + ".h";
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
      {"simulate/interpreter.cpp", "\"runtime/run.h\"", false},
      {"runtime/run.cpp", "\"core/executor.h\"", true},
      {"runtime/run.cpp", "\"spec/program.h\"", false},
      {"runtime/run.cpp", "<asio.hpp>", false},
      {"runtime/run.cpp", "\"runtime/torch/stage.h\"", false},
      {"runtime/run.cpp", "\"runtime/protocol/rank.h\"", true},
      {"runtime/run.cpp", "\"runtime/launcher/launch.h\"", false},
      {"runtime/work.h", "\"runtime/payload.h\"", true},
      {"runtime/work.h", "\"runtime/protocol/rank.h\"", false},
      {"runtime/transport.h", "\"runtime/network/buffer_pool.h\"", false},
      {"runtime/protocol/rank.h", "\"runtime/transport.h\"", true},
      {"runtime/protocol/rank.h", "\"runtime/network/socket.h\"", false},
      {"runtime/protocol/rank.cpp", "\"runtime/run.h\"", false},
      {"runtime/protocol/rank.cpp", "<thread>", false},
      {"runtime/protocol/rank.cpp", "<unistd.h>", false},
      {"runtime/network/roster.cpp", "\"runtime/protocol/tree.h\"", true},
      {"runtime/network/roster.cpp", "\"runtime/protocol/rank.h\"", false},
      {"runtime/launcher/guard.cpp", "\"runtime/network/folder_store.h\"", true},
      {"runtime/launcher/guard.cpp", "\"runtime/network/socket.h\"", false},
      {"runtime/cuda/device.cpp", "\"runtime/watchdog/call_guard.h\"", true},
      {"runtime/cuda/device.cpp", "\"runtime/network/peers.h\"", false},
      {"runtime/torch/train.cpp", "\"runtime/launcher/launch.h\"", false},
      {"runtime/value_head.cpp", "<torch/torch.h>", false},
      {"runtime/run.cpp", "<nlohmann/json.hpp>", false},
      {"runtime/run.cpp", "<fmt/format.h>", false},
      {"files/new_file.cpp", "<fcntl.h>", true},
      {"files/new_file.cpp", "\"trace/record.h\"", false},
      {"trace/about.cpp", "<nlohmann/json.hpp>", true},
      {"trace/read.cpp", "<nlohmann/json.hpp>", true},
      {"trace/write.cpp", "<nlohmann/json.hpp>", false},
      {"trace/read.cpp", "\"spec/program.h\"", false},
      {"runtime/network/socket.cpp", "<asio.hpp>", true},
      {"runtime/network/socket.cpp", "<sys/socket.h>", true},
      {"runtime/network/socket.cpp", "<torch/torch.h>", false},
      {"runtime/network/socket.cpp", "<ucp/api/ucp.h>", false},
      {"runtime/network/ucx_transport.cpp", "<ucp/api/ucp.h>", false},
      {"runtime/network/ucx_worker.cpp", "<ucp/api/ucp.h>", true},
      {"runtime/torch/stage.cpp", "<torch/torch.h>", true},
      {"runtime/torch/stage.cpp", "<asio.hpp>", false},
      {"runtime/torch/stage.cpp", "<fmt/format.h>", false},
      {"cli/main.cpp", "<CLI/CLI.hpp>", true},
      {"cli/main.cpp", "\"runtime/torch/stage.h\"", false},
      {"cli/launch_main.cpp", "\"runtime/launcher/launch.h\"", true},
      {"cli/launch_main.cpp", "\"spec/program.h\"", false},
      {"cmake/archive/arc4random.cpp", "<sys/random.h>", true},
      {"cmake/archive/condition_wait.cpp", "<pthread.h>", true},
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
      {"runtime/run.cpp", "<png.h>", false},
      {"elsewhere/new.cpp", "<vector>", false},
      {"core/executor.cpp", "<some/unknown.h>", false},
  };
  for (const Case& c : cases) {
    const std::string text = std::string("#include ") + c.include + "\n";
    EXPECT_EQ(scan(c.file, text).empty(), c.allowed) << c.file << " " << c.include;
  }
}

TEST(IncludeScan, a_namespace_is_that_of_the_folder_or_of_one_above) {
  const auto opens = [](const char* file, const std::string& name) {
    return scan_namespaces(file, "#pragma once\n\nnamespace " + name + " {\nint a();\n}\n").size();
  };
  EXPECT_EQ(opens("runtime/cuda/nccl/a.h", "ripeline::runtime::cuda::nccl"), 0U);
  EXPECT_EQ(opens("runtime/cuda/nccl/a.h", "ripeline::runtime::cuda"), 0U);
  EXPECT_EQ(opens("runtime/cuda/nccl/a.h", "ripeline::runtime"), 0U);
  EXPECT_EQ(opens("spec/ast.h", "ripeline::spec::ast"), 0U);
  EXPECT_EQ(opens("spec/elaborate/a.cpp", "ripeline::spec::elaboration"), 0U);
  EXPECT_EQ(opens("wire/a.cpp", "ripeline::wire"), 0U);
  EXPECT_EQ(opens("optimise/racing/a.cpp", "ripeline::optimise"), 0U);
  EXPECT_EQ(opens("spec/indexing.h", "ripeline"), 0U);
  EXPECT_EQ(opens("spec/a.h", "ripeline"), 1U);
  EXPECT_EQ(opens("runtime/a.h", "ripeline::runtime::cuda"), 1U);
  EXPECT_EQ(opens("verify/order/a.cpp", "ripeline::verify::depth"), 1U);
  EXPECT_EQ(opens("verify/order/a.cpp", "ripeline::verify::depth::inner"), 1U);
  EXPECT_EQ(opens("verify/order/a.cpp", "ripeline::verifying"), 1U);
  EXPECT_EQ(opens("wire/a.cpp", "ripeline::verify"), 1U);
  EXPECT_EQ(opens("wire/a.cpp", "wire"), 1U);
  EXPECT_EQ(opens("tests/a.cpp", "ripeline::verify"), 0U);
}

TEST(IncludeScan, a_planted_namespace_is_named) {
  const std::string forward = "\nnamespace ripeline::runtime::cuda {\nclass Device;\n}\n";
  EXPECT_EQ(scan_namespaces("runtime/a.h", forward + "\nnamespace torch {\nclass A;\n}\n").size(),
            0U);
  const std::string generated = "\nnamespace $name$ {\nnamespace core = ripeline::core;\n";
  EXPECT_EQ(scan_namespaces("codegen/a.cpp", "\nnamespace {\n" + generated).size(), 0U);
  EXPECT_EQ(
      scan_namespaces("validate/probe/a.h",
                      forward + "\nnamespace ripeline::core {\nint a();\n}\n"),
      std::vector<std::string>{"validate/probe/a.h: is in ripeline::core, not in its folder's "
                               "namespace ripeline::validate::probe or one around it"});
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
