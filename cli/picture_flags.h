// The flags for a picture, in every command that writes one, and the functions that write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "load/part.h"
#include "spec/diagnostics.h"
#include "view/picture.h"

namespace ripeline::cli {

// True if the file name ends with `extension`, such as `.svg`, and is longer than that.
[[nodiscard]] bool has_extension(const std::string& file, std::string_view extension);

struct PictureFlags {
  std::string file;          // ends in .svg, .pdf or .html; empty if no picture is wanted
  std::optional<int> width;  // in pixels; not for .html, which is as wide as its window
  load::Part part;
  [[nodiscard]] bool wanted() const { return !file.empty(); }
};

// A second drawing of the run, beside the picture. --begin and --end apply to both.
enum class Beside : unsigned char { nothing, text };

// Adds --picture, --picture-width, --begin and --end. Flags that do not fit together are a usage
// error before the command runs, and so is a .pdf if the program that makes PDFs is missing.
void add_picture(CLI::App& command, PictureFlags& flags, Beside beside = Beside::nothing);

// Writes the picture if the flags ask for one. `panels` must not be empty.
[[nodiscard]] spec::Result<void> write_picture(const PictureFlags& flags,
                                               const std::vector<view::Panel>& panels);

// Writes any drawing, not only a timeline. The flags must ask for .svg or .pdf.
[[nodiscard]] spec::Result<void> write_svg(const PictureFlags& flags, const std::string& svg);

}  // namespace ripeline::cli
