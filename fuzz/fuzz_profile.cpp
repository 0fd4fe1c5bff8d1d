// Reads any bytes as a profile, writes the profile and reads it again. A finding is a crash, a
// sanitizer's report, a hang, or an accepted profile that is refused or differs when read again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulate/profile.h"

namespace {

using ripeline::simulate::Profile;

constexpr std::size_t kMostBytes = 65536;

void require(bool holds, const char* law, const std::string& about) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", law, about.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  Profile profile;
  const ripeline::core::Status read =
      Profile::parse(std::string(reinterpret_cast<const char*>(data), size), profile);
  if (!read.ok()) {
    require(!read.message().empty(), "a refusal says why", "");
    return 0;
  }
  const std::string written = profile.to_json();
  Profile again;
  const ripeline::core::Status reread = Profile::parse(written, again);
  require(reread.ok(), "what was written is a profile", reread.message() + "\n" + written);
  require(again.to_json() == written, "it is written as the same bytes", written);
  return 0;
}
