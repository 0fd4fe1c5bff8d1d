// Where a cell of PyTorch's schedule file stands in its bytes, for messages that point at it.
//
// Rows and columns count from 1 and are those of read_actions() (actions.h). Pure; never throws.
#pragma once

#include <cstddef>
#include <string_view>

namespace ripeline::spec {

struct CellBytes {
  std::size_t begin = 0;
  std::size_t end = 0;
};
// The cell without the blanks around it; of column 0 its whole line. What lies beyond the row or
// the file is the empty place at its end.
[[nodiscard]] CellBytes bytes_of_cell(std::string_view bytes, int row, int column);

}  // namespace ripeline::spec
