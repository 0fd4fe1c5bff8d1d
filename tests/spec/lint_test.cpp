// Tests that correct programs have no warning. Programs with warnings are in specimens/lint/.
#include "spec/lint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "spec/parse.h"
#include "spec/render.h"

namespace ripeline::spec {
namespace {

namespace fs = std::filesystem;

// The warnings as printed, or the errors if the program does not compile.
std::string warnings_of(const std::string& name, const std::string& text,
                        const ElaborateOptions& options = {}) {
  const Source source{name, text};
  const auto program = compile(source, options);
  if (!program.ok()) return render(source, program.errors());
  return render(source, lint(parse(source).value(), program.value()), Severity::warning);
}

TEST(Lint, warns_of_no_library_schedule) {
  for (const LibraryEntry& entry : library()) {
    for (const int ranks : {1, 2, 3, 4, 8}) {
      const ElaborateOptions options{.defines = {{"ranks", ranks}}, .dispatch = ""};
      EXPECT_EQ(warnings_of(std::string(entry.name), std::string(entry.text), options), "")
          << ranks << " ranks";
    }
  }
}

// Users copy these programs.
TEST(Lint, warns_of_no_example) {
  int examples = 0;
  for (const char* folder : {"examples", "bench"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(RIPELINE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".ripe") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      EXPECT_EQ(
          warnings_of(entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}),
          "");
      ++examples;
    }
  }
  EXPECT_GE(examples, 10);
}

// The warnings of a pipeline with these clauses, which has three stages on three ranks.
std::string of_three_stages(const std::string& clauses) {
  return warnings_of("p", "pipeline p { microbatches any; stages 3; place s on s; " + clauses +
                              " dispatch ready; }");
}

// A task may have a result for which no other task waits.
TEST(Lint, lets_ops_be_whose_result_is_of_no_task) {
  for (const char* clauses : {
           "op F forward { needs F at prev; }",  // inference
           "op F { needs F at prev; }",
           "op F forward { needs F at prev; } op B backward { needs F at here, B at next; } "
           "op P user \"noise\" { needs B at here; } op G reduce once { needs B at here of all; }",
           "op F forward { needs F at prev; } op I backward input { needs F at here, I at next; } "
           "op W backward weight { needs I at here; }",
           // The first stages are not trained.
           "op F forward { needs F at prev; } "
           "op B backward when s > 0 { needs F at here; needs B at next; }",
           // The gradient passes through a copy.
           "op F forward { needs F at prev; } op O offload on copy_out { needs F at here; } "
           "op L reload on copy_in { needs O at here, B at next; } "
           "op B backward { needs L at here; }",
           // The pipeline is written from its last stage to its first.
           "op F forward { needs F at next; } op B backward { needs F at here, B at prev; }",
       }) {
    EXPECT_EQ(of_three_stages(clauses), "") << clauses;
  }
}

TEST(Lint, lets_a_hint_leave_out_what_it_does_not_choose) {
  const std::string ops =
      "op F forward { needs F at prev; } op B backward { needs F at here, B at next; } "
      "op G reduce once { needs B at here of all; } op C on copy_out { needs F at here; } ";
  EXPECT_EQ(of_three_stages(ops + "hint h { rounds B, F; }"), "");
  EXPECT_EQ(of_three_stages(ops + "hint h { }"), "");
  EXPECT_NE(of_three_stages(ops + "hint h { rounds C, B; }"), "");
}

TEST(Lint, says_once_at_which_stages_what_is_acquired_stays) {
  for (const auto& [when, stages] : std::vector<std::pair<std::string, std::string>>{
           {"", "every stage"},
           {"when s == 1", "stage 1"},
           {"when s > 0", "each of stages 1 to 2"},
           {"when s % 2 == 0", "each of stages 0, 2"}}) {
    const std::string said = of_three_stages(
        "op F forward { needs F at prev; } op B backward { needs F at here, B at next; } "
        "op K user \"keep\" " +
        when + " { needs F at here; acquires a 2; } resource a per stage { }");
    EXPECT_NE(said.find("]: " + stages + " acquires 2 of 'a' for a microbatch and releases none\n"),
              std::string::npos)
        << said;
    EXPECT_EQ(said.find("warning["), said.rfind("warning[")) << said;
  }
}

}  // namespace
}  // namespace ripeline::spec
