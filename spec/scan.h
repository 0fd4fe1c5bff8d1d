// The characters of a `.ripe` text: blanks, comments, lexemes, and where to resume after a mistake.
//
// Shared by the grammar and its error reports. Offsets are bytes of the text; every function
// accepts any input and takes time linear in the bytes that it passes over.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "spec/ast.h"

namespace ripeline::spec {

// The first offset, from `at` on, that is neither blank nor in a comment.
[[nodiscard]] std::size_t skip_blanks(std::string_view text, std::size_t at);

// The length of the lexeme with which the text begins; 0 if it begins with something else.
[[nodiscard]] std::size_t word_length(std::string_view text);  // letters, digits, _; no digit first
[[nodiscard]] std::size_t name_length(std::string_view text);  // a word that is not an operator
[[nodiscard]] std::size_t number_length(
    std::string_view text);  // all that looks like a number: 1.5, also 0x1F
[[nodiscard]] std::size_t string_length(std::string_view text);  // with its quotes; within one line

// The lexeme at `at`, for messages; empty at the end.
[[nodiscard]] std::string_view lexeme_at(std::string_view text, std::size_t at);

// The words that begin an item.
[[nodiscard]] const std::vector<std::string>& item_words();

[[nodiscard]] std::vector<ast::Comment> comments_of(std::string_view text);

// Whether an empty line directly precedes the line of `at`.
[[nodiscard]] bool blank_line_before(std::string_view text, std::size_t at);

// Errors for text that no grammar can read: bytes that are not text (parse-not-text), strings
// without an end (parse-unterminated-string).
[[nodiscard]] Diagnostics unreadable(std::string_view text);

// The offset at which the next item may begin, after the item that begins at `begin` has failed at
// `error`. It is after `begin`, except at the end.
[[nodiscard]] std::size_t resume_after(std::string_view text, std::size_t begin, std::size_t error);

}  // namespace ripeline::spec
