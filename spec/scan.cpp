#include "spec/scan.h"

#include <algorithm>
#include <array>

namespace ripeline::spec {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The length of the UTF-8 character at `at`; 0 if it is invalid or a control character.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x20) return is_blank(text[at]) ? 1 : 0;
  if (lead < 0x80) return lead == 0x7F ? 0 : 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

std::size_t end_of_line(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// Steps back over blanks to the start of the line, or to the first other character. So the cost
// depends on the number of blanks, not on the line's length.
std::size_t back_over_blanks(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] != '\n' && is_blank(text[at - 1])) --at;
  return at;
}

bool first_on_line(std::string_view text, std::size_t at) {
  at = back_over_blanks(text, at);
  return at == 0 || text[at - 1] == '\n' || text.substr(0, at) == kByteOrderMark;
}

std::size_t skip_plain_blanks(std::string_view text, std::size_t at) {
  if (at == 0 && text.starts_with(kByteOrderMark)) at = kByteOrderMark.size();
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

}  // namespace

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  at = skip_plain_blanks(text, at);
  while (at < text.size() && text[at] == '#') {
    at = skip_plain_blanks(text, end_of_line(text, at));
  }
  return at;
}

std::size_t word_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word) -
                                  text.begin());
}

std::size_t name_length(std::string_view text) {
  constexpr std::array<std::string_view, 4> kOperators = {"and", "or", "not", "div"};
  const std::size_t length = word_length(text);
  const bool reserved =
      std::find(kOperators.begin(), kOperators.end(), text.substr(0, length)) != kOperators.end();
  return reserved ? 0 : length;
}

std::size_t number_length(std::string_view text) {
  if (text.empty() || !is_digit(text[0])) return 0;
  std::size_t n = 1;
  while (n < text.size()) {
    const bool point = text[n] == '.' && n + 1 < text.size() && is_word(text[n + 1]);
    if (!point && !is_word(text[n])) break;
    ++n;
  }
  return n;
}

std::size_t string_length(std::string_view text) {
  if (text.empty() || text[0] != '"') return 0;
  const std::size_t end = text.find_first_of("\"\n", 1);
  return end != std::string_view::npos && text[end] == '"' ? end + 1 : 0;
}

std::string_view lexeme_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  if (rest.empty()) return rest;
  std::size_t length = std::max({word_length(rest), number_length(rest), string_length(rest)});
  for (const std::string_view symbol : {"..<", "..", "->", "<=", ">=", "==", "!="}) {
    if (length == 0 && rest.starts_with(symbol)) length = symbol.size();
  }
  if (length == 0) length = std::max<std::size_t>(character_length(rest, 0), 1);
  return rest.substr(0, length);
}

const std::vector<std::string>& item_words() {
  static const std::vector<std::string> words = {
      "param",  "microbatches", "stages",  "edges",        "place", "tensor_parallel",
      "op",     "resource",     "channel", "order",        "hint",  "dispatch",
      "assert", "pair",         "inputs",  "data_parallel"};
  return words;
}

std::vector<ast::Comment> comments_of(std::string_view text) {
  std::vector<ast::Comment> comments;
  for (std::size_t at = skip_plain_blanks(text, 0); at < text.size();
       at = skip_plain_blanks(text, at)) {
    if (text[at] != '#') {
      at += lexeme_at(text, at).size();
      continue;
    }
    ast::Comment comment;
    comment.span = {at, end_of_line(text, at)};
    std::size_t end = comment.span.end;
    while (end > at + 1 && is_blank(text[end - 1])) --end;
    comment.text = text.substr(at + 1, end - at - 1);
    comment.own_line = first_on_line(text, at);
    comment.blank_before = comment.own_line && blank_line_before(text, at);
    at = comment.span.end;
    comments.push_back(std::move(comment));
  }
  return comments;
}

bool blank_line_before(std::string_view text, std::size_t at) {
  // Among several items on a line only the first can have an empty line before it.
  const std::size_t line = back_over_blanks(text, at);
  if (line == 0 || text[line - 1] != '\n') return false;
  const std::size_t before = back_over_blanks(text, line - 1);
  return before == 0 || text[before - 1] == '\n';
}

Diagnostics unreadable(std::string_view text) {
  Diagnostics errors;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    if (length == 0) {
      return {{"parse-not-text",
               "this byte does not belong in a text",
               "a program is written in UTF-8, without control characters",
               {at, at + 1}}};
    }
    at += length;
  }
  for (std::size_t at = skip_blanks(text, 0); at < text.size(); at = skip_blanks(text, at)) {
    if (text[at] == '"' && string_length(text.substr(at)) == 0) {
      errors.push_back({"parse-unterminated-string",
                        "this string has no end on its line",
                        "close it with '\"'",
                        {at, end_of_line(text, at)}});
      at = end_of_line(text, at);
    } else {
      at += lexeme_at(text, at).size();
    }
  }
  return errors;
}

std::size_t resume_after(std::string_view text, std::size_t begin, std::size_t error) {
  int open = 0;
  for (std::size_t at = skip_blanks(text, begin); at < text.size(); at = skip_blanks(text, at)) {
    const std::string_view lexeme = lexeme_at(text, at);
    const std::size_t end = at + lexeme.size();
    const auto& words = item_words();
    // At the start of a line, a word that can begin an item begins one, even if a brace is missing.
    const bool item = at >= error && at > begin &&
                      std::find(words.begin(), words.end(), lexeme) != words.end() &&
                      first_on_line(text, at);
    if (item || (lexeme == "}" && open == 0 && at > begin)) return at;
    if (lexeme == "{") ++open;
    if (lexeme == "}") --open;
    const bool closes = lexeme == ";" || lexeme == "}";
    if (closes && open <= 0 && end > error) return end;
    at = end;
  }
  return text.size();
}

}  // namespace ripeline::spec
