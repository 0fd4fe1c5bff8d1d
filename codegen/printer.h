// Fills templates of the generated text: named holes between dollar signs.
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

inline constexpr std::size_t kTableWidth = 96;  // columns of a table's lines, without their indent

// The items with commas between them, on lines of at most `width` columns, each line with a comma
// at its end.
[[nodiscard]] std::string wrap(const std::vector<std::string>& items, std::size_t width);

// The lines, each but the last with a newline at its end.
[[nodiscard]] std::string lines(const std::vector<std::string>& texts);

// The texts with an empty line between them.
[[nodiscard]] std::string paragraphs(const std::vector<std::string>& texts);

// A string literal.
[[nodiscard]] std::string quoted(std::string_view text);

// Whether the name is a keyword of C++, or a macro that headers of the C library or common toolkits
// define.
[[nodiscard]] bool is_taken(const std::string& name);

// The name; an underscore is added if it is a C++ keyword or may be a macro.
[[nodiscard]] std::string identifier(const std::string& name);

}  // namespace ripeline::codegen
