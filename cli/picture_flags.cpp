#include "cli/picture_flags.h"

#include <string_view>

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "view/html.h"
#include "view/pdf.h"
#include "view/svg.h"

namespace ripeline::cli {
namespace {

// The reason why these flags allow no picture of any run; nullopt if they allow one.
std::optional<std::string> wrong_with(const PictureFlags& flags) {
  if (const auto part = load::check_part(flags.part); !part.ok()) {
    return part.errors().front().message;
  }
  if (has_extension(flags.file, ".html") && flags.width) {
    return "--picture-width is for .svg and .pdf: a page (.html) is as wide as its window";
  }
  return has_extension(flags.file, ".pdf") ? view::why_no_pdf() : std::nullopt;
}

}  // namespace

bool has_extension(const std::string& file, std::string_view extension) {
  return file.size() > extension.size() && file.ends_with(extension);
}

void add_picture(CLI::App& command, PictureFlags& flags, Beside beside) {
  CLI::Option* picture =
      command
          .add_option("--picture", flags.file,
                      "draw it: a page to zoom, search and hover (.html), or a picture for the web "
                      "(.svg) or a paper (.pdf, which needs rsvg-convert)")
          ->check([](const std::string& name) {
            const bool known = has_extension(name, ".svg") || has_extension(name, ".pdf") ||
                               has_extension(name, ".html");
            return known ? std::string() : std::string("its name must end in .svg, .pdf or .html");
          })
          ->type_name("FILE");
  command
      .add_option("--picture-width", flags.width,
                  fmt::format("of a .svg or .pdf: pixels, of which 96 are an inch ({})",
                              view::kPictureWidth))
      ->check(integer_from(view::kLeastPictureWidth, view::kMostPictureWidth))
      ->needs(picture);
  const bool text = beside == Beside::text;
  CLI::Option* begin = command.add_option(
      "--begin", flags.part.begin,
      text ? "draw from this time on, in the run's unit, on the terminal and in the picture"
           : "of the picture: from this time on, in the run's unit; a page opens there");
  CLI::Option* end = command.add_option(
      "--end", flags.part.end, text ? "draw up to this time" : "of the picture: up to this time");
  begin->check(number_from_zero());
  end->check(number_above_zero());
  if (!text) {
    begin->needs(picture);
    end->needs(picture);
  }
  command.parse_complete_callback([&flags] {
    if (const auto wrong = wrong_with(flags)) throw CLI::ValidationError(*wrong);
  });
}

spec::Result<void> write_picture(const PictureFlags& flags,
                                 const std::vector<view::Panel>& panels) {
  if (!flags.wanted()) return {};
  const auto range = load::range_of(flags.part, panels);
  if (!range.ok()) return range.errors();
  const Progress progress("drawing " + flags.file);
  if (has_extension(flags.file, ".html"))
    return write_file(flags.file, view::html(panels, range.value()));
  return write_svg(flags, view::svg(panels, {.width = flags.width.value_or(view::kPictureWidth),
                                             .range = range.value()}));
}

spec::Result<void> write_svg(const PictureFlags& flags, const std::string& svg) {
  if (has_extension(flags.file, ".svg")) return write_file(flags.file, svg);
  const core::StatusOr<std::string> pdf = view::pdf_of(svg);
  if (!pdf.ok()) return spec::failure(pdf.message());
  return write_file(flags.file, pdf.value());
}

}  // namespace ripeline::cli
