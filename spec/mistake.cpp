#include "spec/mistake.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "spec/scan.h"

namespace ripeline::spec {
namespace {

// The quoted words in a description of what was expected.
std::vector<std::string> quoted_words(const std::string& wanted) {
  std::vector<std::string> words;
  std::size_t open = wanted.find('\'');
  while (open != std::string::npos) {
    const std::size_t close = wanted.find('\'', open + 1);
    if (close == std::string::npos) break;
    words.push_back(wanted.substr(open + 1, close - open - 1));
    open = wanted.find('\'', close + 1);
  }
  return words;
}

// Rewrites "a or b or c" as "a, b or c", which reads better.
std::string enumerated(std::string wanted) {
  constexpr std::string_view kOr = " or ";
  const std::size_t last = wanted.rfind(kOr);
  for (std::size_t at = wanted.find(kOr); at < last; at = wanted.find(kOr, at)) {
    wanted.replace(at, kOr.size(), ", ");
    if (wanted.find(kOr, at) == wanted.rfind(kOr)) break;
  }
  return wanted;
}

// Shortens a lexeme that is too long for a message; the source line below shows all of it.
std::string quoted(const std::string& lexeme) {
  constexpr std::size_t kMostBytes = 40;
  constexpr std::size_t kShown = 20;
  if (lexeme.front() == '"') return lexeme;
  if (lexeme.size() <= kMostBytes) return "'" + lexeme + "'";
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(lexeme[end]) & 0xC0U) == 0x80U) --end;
  return "'" + lexeme.substr(0, end) + "...'";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  const auto meant = nearest(word, words);
  return meant ? "Did you mean " + *meant + "?" : "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr const char* kComment = "a comment begins with # and ends with its line";

// Whether `at` is within // or /*, with which comments begin in other languages.
bool opens_foreign_comment(std::string_view text, std::size_t at) {
  const auto opens = [text](std::size_t i) {
    return text.substr(i, 2) == "//" || text.substr(i, 2) == "/*";
  };
  return opens(at) || (at > 0 && opens(at - 1));
}

// The remedy where a name or a value, for which there is no fixed word, is missing.
std::string help(std::string_view message, const std::string& found) {
  if (word_length(found) > 0 && name_length(found) == 0) {
    return "'" + found + "' is an operator and names nothing";
  }
  if (message.starts_with("expected a name,")) return "a name is letters, digits and _";
  if (message.starts_with("expected a value,")) {
    return "a value is a number, a name, min(...) and the like, or an expression in parentheses";
  }
  return "";
}

}  // namespace

Diagnostic expected(const Source& source, std::string wanted, std::size_t where,
                    std::size_t block) {
  const std::string_view text = source.text;
  const std::size_t next = skip_blanks(text, where);
  const std::string found(lexeme_at(text, next));
  const std::vector<std::string> words = quoted_words(wanted);
  Diagnostic error;
  error.message = "expected " + enumerated(std::move(wanted)) + ", found ";
  if (found.empty()) {
    const std::string line = std::to_string(position_of(source, block).line);
    error.id = "parse-unclosed";
    error.message += "the end of the file";
    error.hint = "what begins on line " + line + " is not complete";
    error.span = {where, where};
    return error;
  }
  // A missing `;` is reported at the end of the preceding text, not on the next line.
  const bool next_line = text.substr(where, next - where).find('\n') != std::string_view::npos;
  const bool ends = contains(words, ";");
  error.id = "parse-expected";
  error.span = ends && next_line ? Span{where, where} : Span{next, next + found.size()};
  error.message += quoted(found);
  if (opens_foreign_comment(text, next)) {
    error.hint = kComment;
    return error;
  }
  error.hint = did_you_mean(found, words);
  if (error.hint.empty() && contains(words, "}") && contains(item_words(), found)) {
    error.hint = "a '}' may be missing before it";
  }
  if (error.hint.empty() && ends) error.hint = "a statement ends with ';'";
  if (error.hint.empty()) error.hint = help(words.empty() ? error.message : "", found);
  return error;
}

Diagnostic unknown_item(const Source& source, std::size_t at) {
  const std::string found(lexeme_at(source.text, at));
  const std::string meant = did_you_mean(found, item_words());
  return {"parse-unknown-item",
          "no item begins with " + quoted(found),
          opens_foreign_comment(source.text, at)
              ? kComment
              : "items: " + joined(item_words()) + (meant.empty() ? "" : ". " + meant),
          {at, at + found.size()}};
}

Diagnostic no_pipeline(const Source& source, std::size_t at) {
  constexpr const char* kForm = "a program reads `pipeline NAME { ... }`";
  const std::string found(lexeme_at(source.text, at));
  if (found.empty()) return {"parse-empty", "there is no program here", kForm, {0, 0}};
  const std::string meant = did_you_mean(found, {"pipeline"});
  return {"parse-no-pipeline",
          "expected 'pipeline', found " + quoted(found),
          opens_foreign_comment(source.text, at) ? kComment
                                                 : kForm + (meant.empty() ? "" : ". " + meant),
          {at, at + found.size()}};
}

Diagnostic text_after_end(const Source& source, std::size_t at) {
  const std::string found(lexeme_at(source.text, at));
  return {"parse-text-after-end",
          "the pipeline has ended, but " + quoted(found) + " follows",
          "one file holds one pipeline; a '}' may be too much before it",
          {at, at + found.size()}};
}

std::optional<Diagnostic> foreign_statement(std::string_view text, std::size_t at) {
  constexpr const char* kLoop =
      "steps repeat with a count, as in `(F B) * microbatches;`; a stream has loops: `stream f = "
      "for g in 0 ..< 4, c in 0 ..< chunks : F@c * 2;`";
  constexpr const char* kChoice =
      "a count chooses, as in `F * (r == 0 ? 2 : 1);`; a step with a count of 0 is left out";
  const std::string found(lexeme_at(text, at));
  const bool loops = found == "for" || found == "while" || found == "repeat";
  if (!loops && found != "if") return std::nullopt;
  const std::string_view after = lexeme_at(text, skip_blanks(text, at + found.size()));
  if (after == "@" || after == "*" || after == ";") return std::nullopt;
  return Diagnostic{"parse-expected",
                    "expected a step, found " + quoted(found),
                    loops ? kLoop : kChoice,
                    {at, at + found.size()}};
}

Result<Rational> value_of(const ast::Name& literal) {
  const auto fail = [&](const char* id, const char* is, const char* hint) {
    return Diagnostic{id, quoted(literal.text) + " " + is, hint, literal.span};
  };
  constexpr const char* kFit = "numbers and their decimals fit in 64 bits";
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t point = literal.text.find('.');
  std::string digits = literal.text;
  if (point != std::string::npos) digits.erase(point, 1);
  if (!std::all_of(digits.begin(), digits.end(), digit)) {
    return fail("parse-bad-number", "is no number", "write 12 or 0.5; a name begins with a letter");
  }
  std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point;
  for (; decimals > 0 && digits.back() == '0'; --decimals) digits.pop_back();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t numerator = 0;
  for (const char c : digits) {
    const std::int64_t d = c - '0';
    if (numerator > (kMax - d) / 10)
      return fail("parse-number-too-large", "has too many digits", kFit);
    numerator = numerator * 10 + d;
  }
  std::int64_t denominator = 1;
  for (; decimals > 0; --decimals) {
    if (denominator > kMax / 10)
      return fail("parse-number-too-large", "has too many decimals", kFit);
    denominator *= 10;
  }
  const std::int64_t common = std::gcd(numerator, denominator);
  return Rational{numerator / common, denominator / common};
}

}  // namespace ripeline::spec
