#include "spec/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "spec/render.h"

namespace ripeline::spec {
namespace {

// Longer source lines are cut to this many bytes around the marked position.
constexpr std::size_t kShownBytes = 160;
constexpr std::size_t kShownBefore = 100;

constexpr const char* kFailure = "input";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The code point at `at` and its length in bytes; length 0 if the bytes are not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint decode(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || at + length > text.size()) return {};
  std::uint32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[at + i])) return {};
    value = (value << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return {value, length};
}

// The columns of a character in a terminal, by the main ranges of wide and combining characters.
std::size_t width(std::uint32_t c) {
  if (c >= 0x300 && c <= 0x36F) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Appends text to `shown`, with '?' for unfit characters; to `padding` blanks as wide and its tabs.
void show(std::string_view text, std::string& shown, std::string& padding) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (c.value == '\t') {
      shown += '\t';
      padding += '\t';
    } else if (c.length == 0 || c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0)) {
      shown += '?';
      padding += ' ';
    } else {
      shown += text.substr(i, c.length);
      padding.append(width(c.value), ' ');
    }
    i += std::max<std::size_t>(c.length, 1);
  }
}

// The line at `offset` without its indentation, and a caret under the position; empty if the line
// is empty.
std::string excerpt(std::string_view text, std::size_t offset) {
  std::size_t begin = offset;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  std::size_t end = std::min(text.find('\n', offset), text.size());
  if (end > begin && text[end - 1] == '\r') --end;
  while (begin < std::min(end, offset) && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  if (begin == end) return {};
  offset = std::min(offset, end);
  std::string shown = "  ";
  std::string padding = "  ";
  if (offset - begin > kShownBefore) {
    begin = offset - kShownBefore;
    while (begin < offset && is_continuation(text[begin])) ++begin;
    shown += "...";
    padding += "   ";
  }
  const bool cut = end - begin > kShownBytes;
  if (cut) {
    end = begin + kShownBytes;
    while (end > offset && is_continuation(text[end])) --end;
  }
  std::string ignored;
  show(text.substr(begin, offset - begin), shown, padding);
  show(text.substr(offset, end - offset), shown, ignored);
  return shown + (cut ? "..." : "") + "\n" + padding + "^\n";
}

// The number of edits (insert, delete, replace, swap neighbours) between two words, ignoring case.
std::size_t edits(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (equal ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Diagnostic failure(std::string sentence) {
  return {.id = kFailure, .message = std::move(sentence), .hint = {}, .span = {}};
}

bool is_failure(const Diagnostic& error) { return error.id == kFailure; }

Position position_of(const Source& source, std::size_t offset) {
  offset = std::min(offset, source.text.size());
  const std::string_view before = std::string_view(source.text).substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  Position position;
  position.line += static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  position.column +=
      static_cast<int>(newline == std::string_view::npos ? offset : offset - newline - 1);
  return position;
}

std::string render(const Source& source, const Diagnostics& diagnostics) {
  return render(source, diagnostics, Severity::error);
}

std::string render(const Source& source, const Diagnostics& diagnostics, Severity severity) {
  const std::string word = severity == Severity::error ? "error" : "warning";
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  std::string text;
  for (const Diagnostic& d : sorted) {
    const std::size_t offset = std::min(d.span.begin, source.text.size());
    const Position at = position_of(source, offset);
    const std::string place =
        d.option.empty() ? ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": "
                         : ": " + d.option + ": ";
    text += source.name + place + word + "[" + d.id + "]: " + d.message + "\n";
    if (d.option.empty()) text += excerpt(source.text, offset);
    if (!d.hint.empty()) text += "  " + d.hint + "\n";
  }
  return text;
}

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 64;  // keeps the table small for every input
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_edits = name.size() <= 1 ? 1 : name.size() <= 5 ? 2 : name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t n = edits(name, candidate);
    // A candidate that has nothing in common with the name was not meant.
    if (n < best_edits && n < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_edits = n;
    }
  }
  return best;
}

}  // namespace ripeline::spec
