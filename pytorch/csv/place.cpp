#include "pytorch/csv/place.h"

#include <algorithm>

namespace ripeline::spec {
namespace {

constexpr std::string_view kBlanks = " \t\v\f";

CellBytes without_blanks(std::string_view bytes, CellBytes cell) {
  const std::string_view text = bytes.substr(cell.begin, cell.end - cell.begin);
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {cell.begin, cell.begin};
  return {cell.begin + first, cell.begin + text.find_last_not_of(kBlanks) + 1};
}

// Lines end as Python's csv module ends them: \n, \r\n or \r.
CellBytes line_of(std::string_view bytes, int row) {
  std::size_t begin = 0;
  for (int r = 1;; ++r) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n", begin), bytes.size());
    if (r >= row || end == bytes.size()) return {r < row ? end : begin, end};
    begin = end + (bytes.substr(end).starts_with("\r\n") ? 2 : 1);
  }
}

}  // namespace

CellBytes bytes_of_cell(std::string_view bytes, int row, int column) {
  const CellBytes line = line_of(bytes, row);
  if (column < 1) return without_blanks(bytes, line);
  std::size_t begin = line.begin;
  for (int c = 1;; ++c) {
    const std::size_t end = std::min(bytes.find(',', begin), line.end);
    if (c >= column) return without_blanks(bytes, {begin, end});
    if (end == line.end) return {end, end};
    begin = end + 1;
  }
}

}  // namespace ripeline::spec
