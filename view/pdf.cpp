#include "view/pdf.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "process/child.h"

namespace ripeline::view {
namespace {

constexpr const char* kPdfMaker = "rsvg-convert";

}  // namespace

std::optional<std::string> why_no_pdf() {
  const process::Child child{.command = {kPdfMaker, "--version"}, .time = std::chrono::seconds(30)};
  const process::ChildRun run = process::run_child(child);
  if (run.ended_well()) return std::nullopt;
  if (run.not_started == ENOENT) {
    return "a .pdf is made by rsvg-convert, which is not in PATH. On Debian: apt-get install "
           "librsvg2-bin; or ask for a .svg and convert that";
  }
  return "a .pdf is made by rsvg-convert, which " + how_it_ended(child, run);
}

core::StatusOr<std::string> pdf_of(const std::string& svg) {
  // Without --unlimited, rsvg-convert refuses large pictures, such as those of many tasks.
  const process::Child child{.command = {kPdfMaker, "--format=pdf", "--unlimited"},
                             .time = std::chrono::minutes(10),
                             .input = svg,
                             .most_output = std::size_t{1} << 30U,
                             .shows_errors = true};
  process::ChildRun run = process::run_child(child);
  if (run.ended_well()) return std::move(run.output);
  return core::Status(core::StatusCode::failed,
                      fmt::format("{} {}", kPdfMaker, how_it_ended(child, run)));
}

}  // namespace ripeline::view
