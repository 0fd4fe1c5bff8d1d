// Fills templates of the generated text. A hole in a template is a name between dollar signs.
//
//   fill("case $op$:\n  $statements$\n", {{"op", "ops::F"}, {"statements", lines}})
//
// A value of several lines gets the indentation of its hole. A line with nothing but a hole
// disappears if the value is empty. A hole without a value, or a value without a hole, is a mistake
// of the generator: the program aborts and names it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::codegen {

using Holes = std::map<std::string_view, std::string>;

[[nodiscard]] std::string fill(std::string_view text, const Holes& holes);

inline constexpr std::size_t kTableWidth = 96;  // columns of a table's lines, without indentation

// The items with commas between them, on lines of at most `width` columns, each line with a comma
// at its end.
[[nodiscard]] std::string wrap(const std::vector<std::string>& items, std::size_t width);

// The texts of numbers, as arguments of wrap().
template <class Range>
[[nodiscard]] std::vector<std::string> texts_of(const Range& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

// A constexpr table. Its `rows` were made by wrap(); `comment` is above it, unless that is empty.
[[nodiscard]] std::string table(const std::string& type, const std::string& name,
                                const std::string& comment, const std::string& rows);
// Like table(), but on one line if the rows are a few numbers; an empty text if there are no rows.
[[nodiscard]] std::string array(const std::string& type, const std::string& name,
                                const std::string& comment, const std::string& rows);

// A call: `head`, which ends with a parenthesis, then the items and the closing parenthesis. All
// are on one line if they fit in `width` columns; otherwise each item has its own line.
[[nodiscard]] std::string call(const std::string& head, const std::vector<std::string>& items,
                               std::size_t width);

// The lines, each but the last with a newline at its end.
[[nodiscard]] std::string lines(const std::vector<std::string>& texts);

// The texts with an empty line between them.
[[nodiscard]] std::string paragraphs(const std::vector<std::string>& texts);

// A string literal.
[[nodiscard]] std::string quoted(std::string_view text);

// Whether the name is a keyword of C++, or a macro that headers of the C library or common toolkits
// define.
[[nodiscard]] bool is_taken(const std::string& name);

// The name, with an underscore added if it is a C++ keyword or may be a macro.
[[nodiscard]] std::string identifier(const std::string& name);

}  // namespace ripeline::codegen
