// Tests right and wrong schedules of PyTorch: every specimens/check/*.csv has a .expect file beside
// it. That file begins with the command, followed by all that `ripeline check` prints, up to its
// assumptions, and by its exit code. RIPELINE_ACCEPT=1 in the environment rewrites what follows the
// command; read the difference before you commit it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(RIPELINE_SOURCE_DIR) / "tests" / "specimens" / "check"; }

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> specimens() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Runs `ripeline ARGUMENTS` in the folder of the specimens; returns its output.
std::string say(const std::string& arguments) {
  const std::string command =
      "cd '" + folder().string() + "' && timeout 60 " RIPELINE_PROGRAM " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  out = out.substr(0, out.find("\nassuming:"));
  if (!out.ends_with('\n')) out += '\n';
  return out + "exit " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + "\n";
}

class CheckSpecimens : public ::testing::TestWithParam<fs::path> {};

TEST_P(CheckSpecimens, are_judged_as_expected) {
  const fs::path beside = fs::path(GetParam()).replace_extension(".expect");
  const std::string expected = read(beside);
  const std::string command = expected.substr(0, expected.find('\n'));
  ASSERT_EQ(command.rfind("ripeline check " + GetParam().filename().string(), 0), 0U) << beside;
  const std::string said = command + "\n" + say(command.substr(std::string("ripeline ").size()));
  if (std::getenv("RIPELINE_ACCEPT") != nullptr) std::ofstream(beside, std::ios::binary) << said;
  EXPECT_EQ(said, read(beside));
}

// The name tells the mistake: `unpaired_send` must be refuted by `unpaired`; `right_…` is proved.
TEST_P(CheckSpecimens, are_judged_by_the_rule_of_their_name) {
  const std::string name = GetParam().stem().string();
  const std::string text = read(fs::path(GetParam()).replace_extension(".expect"));
  const std::string rule = name.substr(0, name.find('_'));
  if (rule == "right") {
    EXPECT_TRUE(text.ends_with("exit 0\n")) << text;
  } else {
    EXPECT_TRUE(text.ends_with("exit 1\n")) << text;
    EXPECT_NE(text.find(": [" + rule + "] "), std::string::npos) << text;
  }
}

std::string name_of(const ::testing::TestParamInfo<fs::path>& specimen) {
  return specimen.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Cli, CheckSpecimens, ::testing::ValuesIn(specimens()), name_of);

TEST(CheckSpecimensFolder, holds_at_least_forty) { EXPECT_GE(specimens().size(), 40U); }

}  // namespace
