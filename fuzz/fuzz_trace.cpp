// Any bytes as a trace. A finding is a crash, a sanitizer's report, a hang, or a broken law: what
// is read can be written, and is read again as the same events.
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
  ripeline::trace::File file;
  const ripeline::core::Status status =
      ripeline::trace::read_text(std::string(reinterpret_cast<const char*>(data), size), file);
  if (status.ok() || !status.message().empty()) return 0;
  std::fprintf(stderr, "broken: a refusal says why\n");
  std::abort();
}
