// Compiles every specimens/**/*.ripe. Each has one mistake, and its message must equal the .err
// file beside it. Files in specimens/lint are valid programs with one warning.
// RIPELINE_ACCEPT=1 in the environment rewrites the .err files; read the difference before you
// commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "spec/elaborate.h"
#include "spec/lint.h"
#include "spec/parse.h"
#include "spec/render.h"

namespace ripeline::spec {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(RIPELINE_SOURCE_DIR) / "tests" / "specimens"; }

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> specimens() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    if (entry.path().extension() == ".ripe") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The message for the mistake; empty if there is none, or if there is not exactly one warning.
std::string said_of(const fs::path& path, const Source& source, const ElaborateOptions& options) {
  const auto program = compile(source, options);
  if (path.parent_path().filename() != "lint") {
    return program.ok() ? "" : render(source, program.errors());
  }
  if (!program.ok()) return "";
  const Diagnostics warnings = lint(parse(source).value(), program.value());
  return warnings.size() == 1 ? render(source, warnings, Severity::warning) : "";
}

class Specimens : public ::testing::TestWithParam<fs::path> {};

TEST_P(Specimens, are_answered_with_the_expected_text) {
  const fs::path& path = GetParam();
  const Source source{path.filename().string(), read(path)};
  ElaborateOptions options;
  options.read_file = [&](const std::string& name) -> Result<std::string> {
    const fs::path beside = path.parent_path() / name;
    if (fs::exists(beside)) return read(beside);
    return Diagnostic{
        .id = "input", .message = "No such file or directory", .hint = {}, .span = {}};
  };
  const std::string said = said_of(path, source, options);
  ASSERT_FALSE(said.empty()) << path << " has no mistake, or more than one warning";
  const fs::path expected = fs::path(path).replace_extension(".err");
  if (std::getenv("RIPELINE_ACCEPT") != nullptr) std::ofstream(expected, std::ios::binary) << said;
  EXPECT_EQ(said, read(expected));
}

std::string name_of(const ::testing::TestParamInfo<fs::path>& specimen) {
  std::string name = fs::relative(specimen.param, folder()).replace_extension().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Spec, Specimens, ::testing::ValuesIn(specimens()), name_of);

TEST(SpecimensFolder, holds_at_least_twenty) { EXPECT_GE(specimens().size(), 20U); }

}  // namespace
}  // namespace ripeline::spec
