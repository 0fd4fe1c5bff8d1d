// How a picture is asked for, in every command that writes one, and how it is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "spec/diagnostics.h"
#include "view/picture.h"

namespace ripeline::cli {

// Whether it is a name with this extension, `.svg`: not the extension alone.
[[nodiscard]] bool has_extension(const std::string& file, std::string_view extension);

struct PictureFlags {
  std::string file;             // its name ends in .svg, .pdf or .html; empty: none
  std::optional<int> width;     // in pixels; of a page, which is as wide as its window, none
  std::optional<double> begin;  // from the run's start, in its unit
  std::optional<double> end;
  [[nodiscard]] bool wanted() const { return !file.empty(); }
};

// A drawing of the run beside the picture, for which --begin and --end hold too.
enum class Beside : unsigned char { nothing, text };

// --picture, --picture-width, --begin and --end. Flags that do not fit together are a usage error,
// and so is a .pdf where what makes it is not installed: both before anything runs.
void add_picture(CLI::App& command, PictureFlags& flags, Beside beside = Beside::nothing);

// The part of runs that the flags ask for; times are in the first's unit. Errors: it begins after
// the last of them has ended.
[[nodiscard]] spec::Result<view::Range> range_of(const PictureFlags& flags,
                                                 const std::vector<view::Panel>& panels);

// If there is one to write. `panels` is not empty.
[[nodiscard]] spec::Result<void> write_picture(const PictureFlags& flags,
                                               const std::vector<view::Panel>& panels);

// Writes a drawing that need not be a timeline, where the flags ask for .svg or .pdf.
[[nodiscard]] spec::Result<void> write_svg(const PictureFlags& flags, const std::string& svg);

}  // namespace ripeline::cli
