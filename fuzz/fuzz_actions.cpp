// Reads any bytes as a schedule of PyTorch, writes the schedule and reads it again. A finding is a
// crash, a sanitizer's report, a hang, or an accepted table that write_actions() does not preserve.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pytorch/csv/actions.h"

namespace {

using namespace ripeline::pytorch;

constexpr std::size_t kMostBytes = 16384;

void require(bool holds, const char* law, const std::string& about) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", law, about.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const ReadActions read = read_actions(bytes);
  require(read.mistakes.empty() == (read.mistake_count == 0), "mistakes are counted", "");
  for (const CellMistake& mistake : read.mistakes) {
    require(mistake.row >= 1 && mistake.column >= 0, "a mistake has its place", mistake.message);
    require(!mistake.message.empty(), "a mistake says what it is", mistake.text);
  }
  const std::string written = write_actions(read.table);
  const ReadActions again = read_actions(written);
  if (!read.mistakes.empty()) return 0;
  require(again.mistakes.empty(), "what was written has no mistake", written);
  require(again.table == read.table, "it is the same table", written);
  require(write_actions(again.table) == written, "it is written as the same bytes", written);
  return 0;
}
