// Tests that every comment names its subject: none begins with Of, What, Who or That.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_tree.h"

namespace ripeline {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The position where a comment after code begins, outside strings and characters; npos if none.
std::size_t comment_after_code(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == quote) {
        quote = 0;
      }
    } else if (line[i] == '"' || (line[i] == '\'' && (i == 0 || !std::isalnum(line[i - 1])))) {
      quote = line[i];
    } else if (line.substr(i, 2) == "//") {
      return i;
    }
  }
  return std::string_view::npos;
}

bool has_no_subject(std::string_view comment) {
  constexpr std::array<std::string_view, 4> kWords = {"of", "what", "who", "that"};
  const std::size_t begin = comment.find_first_not_of(' ', 2);
  if (begin == std::string_view::npos) return false;
  std::string word;
  for (const char c : comment.substr(begin)) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// The lines, from 1, on which a comment without a subject begins. Consecutive lines of `//` form
// one comment; text between R"( and )" is not a comment.
std::vector<int> without_subject(const std::string& text) {
  std::vector<int> found;
  std::istringstream lines(text);
  bool goes_on = false;
  bool is_raw = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (is_raw) {
      is_raw = line.find(")\"") == std::string::npos && line.find(")ripe\"") == std::string::npos;
      continue;
    }
    const std::size_t raw = line.find("R\"");
    is_raw = raw != std::string::npos && line.find(")\"", raw) == std::string::npos;
    const std::size_t begin = line.find_first_not_of(' ');
    const bool is_whole = begin != std::string::npos && line.compare(begin, 2, "//") == 0;
    const std::size_t comment = is_whole ? begin : comment_after_code(line);
    const bool begins = comment != std::string::npos && !(is_whole && goes_on);
    if (begins && has_no_subject(std::string_view(line).substr(comment))) found.push_back(number);
    goes_on = is_whole;
  }
  return found;
}

TEST(Comments, have_a_subject) {
  const std::string root = RIPELINE_SOURCE_DIR;
  const std::vector<std::string> files = testing_support::source_files(root);
  ASSERT_GT(files.size(), 800U);
  for (const std::string& file : files) {
    for (const int line : without_subject(read(root + "/" + file))) {
      ADD_FAILURE() << file << ":" << line
                    << ": the comment begins with Of, What, Who or That: name its subject";
    }
  }
}

TEST(Comments, without_a_subject_are_noticed) {
  EXPECT_EQ(without_subject("// Of a rank.\nint x;  // of y\nint z;  // its z\n"),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(without_subject("// A rank\n// of the pipeline.\nconst char* s = \"// of\";\n"),
            std::vector<int>{});
  EXPECT_EQ(without_subject("f('\"');  // What f does\nint n = 1'000;  // that\n"),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(without_subject("auto s = R\"(\n// Of a program\n)\";\n// Who\n"), std::vector<int>{4});
  EXPECT_EQ(without_subject("//\n// That\n\n// Office, whatever, thatch\n"), std::vector<int>{});
}

}  // namespace
}  // namespace ripeline
