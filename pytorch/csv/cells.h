// The cells of a CSV file, split as by Python's csv module with its default dialect, which is how
// PyTorch reads schedules.
//
// Cells are separated by commas; rows end with \n, \r\n or \r. A cell that begins with a quote is
// quoted up to the next quote that is not doubled. It may contain commas and line ends, and text
// after its last quote belongs to it. A quote anywhere else is a plain character. A quote that is
// never closed includes the rest of the file. An empty line is a row without cells.
//
// A file without any comma whose cells are separated by ';' or a tab is split at these; separator()
// returns the separator, and the reader reports it. Accepts any bytes; one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ripeline::pytorch {

struct CsvCell {
  std::size_t begin = 0;  // in the bytes of the file, with quotes
  std::size_t end = 0;
  std::string_view text;  // without quotes; valid until the next cell
  bool open = false;      // whether its quote is never closed
};

class CsvCells {
 public:
  explicit CsvCells(std::string_view bytes);  // `bytes` must outlive the object

  [[nodiscard]] bool has_byte_order_mark() const { return mark_; }  // belongs to no cell
  [[nodiscard]] char separator() const { return separator_; }       // ',', ';' or '\t'
  // Begins the next row, skipping the rest of this one; false at the end of the file.
  [[nodiscard]] bool next_row();
  // The next cell of the row; nullopt at the row's end.
  [[nodiscard]] std::optional<CsvCell> next();
  [[nodiscard]] std::size_t row_begin() const { return row_begin_; }  // the row's start

 private:
  bool ends_cell(char c) const { return c == separator_ || c == '\n' || c == '\r'; }
  std::size_t end_of_plain() const;
  bool unquote(std::size_t& end);
  void end_row();

  std::string_view bytes_;
  char separator_ = ',';
  bool mark_ = false;
  std::size_t at_ = 0;
  std::size_t row_begin_ = 0;
  bool in_row_ = false;
  std::string unquoted_;
};

// The text without the blanks that Python's str.strip() removes from its ends, in UTF-8.
[[nodiscard]] std::string_view without_blanks(std::string_view text);

}  // namespace ripeline::pytorch
