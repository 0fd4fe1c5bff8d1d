// The bytes of a cell of PyTorch's schedule file, for messages that point at the cell.
//
// Rows and columns count from 1 and are those of read_actions() (actions.h). Pure; never throws.
#pragma once

#include <cstddef>
#include <string_view>

namespace ripeline::pytorch {

struct CellBytes {
  std::size_t begin = 0;
  std::size_t end = 0;
};
// The bytes of the cell without the blanks around it; for column 0, those of its line. If there is
// no such cell or row, the result is the empty range at the end of the row or file.
[[nodiscard]] CellBytes bytes_of_cell(std::string_view bytes, int row, int column);

}  // namespace ripeline::pytorch
