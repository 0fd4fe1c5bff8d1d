// ripeline optimise --memory A..B: the best time for each memory.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/failure.h"
#include "cli/interrupts.h"
#include "cli/optimise_input.h"
#include "cli/pictures.h"
#include "load/document.h"
#include "load/search.h"
#include "optimise/memory_curve.h"
#include "optimise/memory_curve_report.h"

namespace ripeline::cli {

int optimise_range(const OptimiseFlags& flags) {
  if (!flags.output.empty()) {
    return say_failed("-o: a range of --memory has a program for each: expected one memory");
  }
  if (flags.picture.file.ends_with(".html") || flags.picture.part.begin || flags.picture.part.end) {
    return say_failed("--picture of a range of memories: expected a .svg or .pdf, which is whole");
  }
  const Interrupts interrupts;
  const auto made = said(load::curve_of(
      flags.search, {.go_on = [&] { return !interrupts.told_to_end(); },
                     .tell =
                         [&](const optimise::CurvePoint& point) {
                           std::cerr << curve_point_text(point, flags.search.model.objective);
                         }}));
  if (!made.ok()) return bad_input;
  const optimise::MemoryCurve& curve = made.value();
  if (interrupts.told_to_end()) {
    std::cerr << fmt::format("interrupted: {} of {} memories\n", curve.points.size(),
                             curve.memories);
  }
  say_notes(curve.notes);
  std::cout << (flags.format == "json" ? load::document_text(memory_curve_json(curve))
                                       : memory_curve_text(curve));
  const auto is_found = [](const optimise::CurvePoint& point) { return point.found; };
  if (std::none_of(curve.points.begin(), curve.points.end(), is_found)) return refuted;
  if (!flags.picture.wanted()) return ok;
  const int width = flags.picture.width.value_or(view::kPictureWidth);
  return said(write_svg(flags.picture, memory_curve_svg(curve, width))).ok() ? ok : bad_input;
}

}  // namespace ripeline::cli
