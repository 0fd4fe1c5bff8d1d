#include "pytorch/csv/cells.h"

#include <algorithm>
#include <array>

namespace ripeline::pytorch {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kAsciiBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
// Blanks: U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000.
constexpr std::array<std::string_view, 19> kOtherBlanks = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
    "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
    "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
    "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// The size in bytes of the blank with which the text begins, or ends; 0 if there is none.
std::size_t blank_in_front(std::string_view text) {
  if (text.empty()) return 0;
  if (is_ascii(text.front())) return kAsciiBlanks.find(text.front()) != text.npos ? 1 : 0;
  const auto* found = std::find_if(kOtherBlanks.begin(), kOtherBlanks.end(),
                                   [text](std::string_view b) { return text.starts_with(b); });
  return found == kOtherBlanks.end() ? 0 : found->size();
}
std::size_t blank_at_end(std::string_view text) {
  if (text.empty()) return 0;
  if (is_ascii(text.back())) return kAsciiBlanks.find(text.back()) != text.npos ? 1 : 0;
  const auto* found = std::find_if(kOtherBlanks.begin(), kOtherBlanks.end(),
                                   [text](std::string_view b) { return text.ends_with(b); });
  return found == kOtherBlanks.end() ? 0 : found->size();
}

// The separator of a file without commas: a semicolon outside of quotes and parentheses, or a tab
// between two cells.
char separator_of(std::string_view bytes) {
  if (bytes.find(',') != bytes.npos) return ',';
  bool quoted = false;
  bool inside = false;  // parentheses are open
  bool filled = false;  // the line has some character
  bool tab = false;     // the line has a tab after that character
  bool tabs = false;    // a tab between two cells of some line
  for (const char c : bytes) {
    quoted = quoted != (c == '"');
    if (quoted) continue;
    if (c == '\n' || c == '\r') {
      inside = filled = tab = false;
    } else if (c == ';' && !inside) {
      return ';';
    } else if (c == '\t') {
      tab = tab || filled;
    } else {
      inside = c == '(' || (inside && c != ')');
      filled = filled || c != ' ';
      tabs = tabs || (tab && c != ' ');
    }
  }
  return tabs ? '\t' : ',';
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  while (const std::size_t blank = blank_in_front(text)) text.remove_prefix(blank);
  while (const std::size_t blank = blank_at_end(text)) text.remove_suffix(blank);
  return text;
}

CsvCells::CsvCells(std::string_view bytes)
    : bytes_(bytes), separator_(separator_of(bytes)), mark_(bytes.starts_with(kByteOrderMark)) {
  if (mark_) at_ = kByteOrderMark.size();
}

bool CsvCells::next_row() {
  while (in_row_) (void)next();
  row_begin_ = at_;
  if (at_ == bytes_.size()) return false;
  in_row_ = true;
  if (bytes_[at_] == '\n' || bytes_[at_] == '\r') end_row();
  return true;
}

std::optional<CsvCell> CsvCells::next() {
  if (!in_row_) return std::nullopt;
  CsvCell cell{.begin = at_, .end = 0, .text = {}};
  if (at_ < bytes_.size() && bytes_[at_] == '"') {
    cell.open = !unquote(cell.end);
    cell.text = unquoted_;
  } else {
    cell.end = end_of_plain();
    cell.text = bytes_.substr(at_, cell.end - at_);
  }
  at_ = cell.end;
  if (at_ < bytes_.size() && bytes_[at_] == separator_) {
    ++at_;
  } else {
    end_row();
  }
  return cell;
}

// A semicolon in parentheses separates no cells, as in (0F1;0B0)OVERLAP_F_B.
std::size_t CsvCells::end_of_plain() const {
  std::size_t end = at_;
  bool inside = false;
  while (end < bytes_.size() && (!ends_cell(bytes_[end]) || (inside && bytes_[end] == ';'))) {
    inside = bytes_[end] == '(' || (inside && bytes_[end] != ')');
    ++end;
  }
  return end;
}

// Reads a quoted cell; false if the quote is never closed.
bool CsvCells::unquote(std::size_t& end) {
  unquoted_.clear();
  end = at_ + 1;
  while (true) {
    const std::size_t quote = std::min(bytes_.find('"', end), bytes_.size());
    unquoted_ += bytes_.substr(end, quote - end);
    end = quote;
    if (end == bytes_.size()) return false;
    if (end + 1 == bytes_.size() || bytes_[end + 1] != '"') break;
    unquoted_ += '"';
    end += 2;
  }
  // Text behind the closing quote belongs to the cell, unchanged.
  for (++end; end < bytes_.size() && !ends_cell(bytes_[end]); ++end) unquoted_ += bytes_[end];
  return true;
}

void CsvCells::end_row() {
  in_row_ = false;
  if (at_ == bytes_.size()) return;
  at_ += bytes_.substr(at_).starts_with("\r\n") ? 2 : 1;
}

}  // namespace ripeline::pytorch
