#include "python/compared.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "load/side_by_side.h"
#include "python/drawing.h"
#include "python/failure.h"
#include "python/number.h"
#include "view/html.h"
#include "view/svg.h"

namespace ripeline::python {
Compared::Compared(const std::vector<Program>& programs, const std::vector<std::string>& titles,
                   const Comparing& comparing) {
  check_integer("--seeds", std::optional(comparing.seeds), 1, load::kMostSeeds);
  const int seeds = static_cast<int>(comparing.seeds);
  const auto memory = value_of(load::memory_limit(comparing.memory));
  load::RunOptions options;
  options.microbatches = counts_of(comparing.microbatches);
  options.times = comparing.times;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    load::Run run;
    run.title = titles.at(i);
    run.loaded = std::make_unique<load::LoadedProgram>(*programs[i].for_step(options.microbatches));
    runs_.push_back(std::move(run));
  }
  const std::string agreed = load::agree_on_count(runs_, options);
  for (load::Run& run : runs_) {
    if (auto made = load::simulate_run(run, options, notes_); !made.ok()) {
      throw Failure(made.errors());
    }
  }
  for (std::string& note : load::size_notes(runs_, agreed)) notes_.push_back(std::move(note));
  rows_ = value_of(load::compared(runs_, options, seeds));
  options_ = {.runs = seeds,
              .seed = options.times.timing.seed,
              .memory = memory,
              .same_work = load::how_to_give_same_work(runs_, options.times)};
  if (const core::Status s = view::compare_text(rows_, options_, text_); !s.ok()) throw Failure(s);
}

std::string Compared::json() const {
  return load::document_text(view::compare_json(rows_, options_));
}

std::vector<view::Panel> Compared::panels() const {
  std::vector<view::Panel> panels;
  for (const load::Run& run : runs_) panels.push_back(run.panel());
  return panels;
}

std::string Compared::svg(std::optional<int> width) const {
  return view::svg(panels(), {.width = picture_width(width)});
}

std::string Compared::html() const { return view::html(panels()); }

}  // namespace ripeline::python
