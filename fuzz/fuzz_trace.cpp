// Reads any bytes as a trace. A finding is a crash, a sanitizer's report, a hang, or a refusal
// without a reason.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "trace/read.h"

namespace {

constexpr std::size_t kMostBytes = 65536;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  const auto read =
      ripeline::trace::read_text(std::string(reinterpret_cast<const char*>(data), size));
  if (read.ok() || !read.message().empty()) return 0;
  std::fprintf(stderr, "broken: a refusal says why\n");
  std::abort();
}
