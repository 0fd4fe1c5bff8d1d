#include "cli/pdf.h"

#include <cerrno>

#include "cli/failure.h"
#include "cli/process.h"

namespace ripeline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kProgram = "rsvg-convert";
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

bool ended_well(const ProcessResult& result) {
  return result.how == ProcessResult::How::exited && result.code == 0;
}

}  // namespace

std::optional<std::string> why_no_pdf() {
  const Process process{.command = {kProgram, "--version"}, .limit = 30s};
  const ProcessResult result = run_process(process);
  if (ended_well(result)) return std::nullopt;
  if (result.how == ProcessResult::How::failed && result.code == ENOENT) {
    return "a .pdf is made by rsvg-convert, which is not in PATH. On Debian: apt-get install "
           "librsvg2-bin; or ask for a .svg and convert that";
  }
  return "a .pdf is made by rsvg-convert, which " + how_it_ended(process, result);
}

spec::Result<std::string> pdf_of(const std::string& svg) {
  // Pictures of many tasks are larger than what it takes without --unlimited.
  const Process process{.command = {kProgram, "--format=pdf", "--unlimited"},
                        .limit = 10min,
                        .input = svg,
                        .shows_errors = true,
                        .most_output = kMostBytes};
  ProcessResult result = run_process(process);
  if (!ended_well(result)) return failure("rsvg-convert " + how_it_ended(process, result));
  return std::move(result.out);
}

}  // namespace ripeline::cli
