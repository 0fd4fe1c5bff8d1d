#include "pytorch/csv/place.h"

#include "pytorch/csv/cells.h"

namespace ripeline::pytorch {
namespace {

CellBytes trimmed(std::string_view bytes, CellBytes cell) {
  const std::string_view raw = bytes.substr(cell.begin, cell.end - cell.begin);
  const std::string_view text = without_blanks(raw);
  const auto before = text.empty() ? 0 : static_cast<std::size_t>(text.data() - raw.data());
  return {cell.begin + before, cell.begin + before + text.size()};
}

}  // namespace

CellBytes bytes_of_cell(std::string_view bytes, int row, int column) {
  CsvCells cells(bytes);
  for (int r = 0; r < row && cells.next_row(); ++r) {
  }
  const auto first = cells.next();
  // The cell of an empty row is the place where the row ends.
  if (!first) return {cells.row_begin(), cells.row_begin()};
  CellBytes last{first->begin, first->end};
  for (int c = 1; c != column; ++c) {
    const auto cell = cells.next();
    if (!cell)
      return column < 1 ? trimmed(bytes, {first->begin, last.end}) : CellBytes{last.end, last.end};
    last = {cell->begin, cell->end};
  }
  return trimmed(bytes, last);
}

}  // namespace ripeline::pytorch
