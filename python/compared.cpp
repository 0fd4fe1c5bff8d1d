#include "python/compared.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "load/side_by_side.h"
#include "python/failure.h"
#include "view/html.h"
#include "view/svg.h"

namespace ripeline::python {
namespace {

constexpr int kMostSeeds = 1'000'000;

}  // namespace

Compared::Compared(const std::vector<Program>& programs, const std::vector<std::string>& titles,
                   const Comparing& comparing) {
  if (comparing.seeds < 1 || comparing.seeds > kMostSeeds) {
    throw Failure(
        {spec::failure("--seeds: expected an integer from 1 to " + std::to_string(kMostSeeds) +
                       ", and found '" + std::to_string(comparing.seeds) + "'")});
  }
  const auto memory = value_of(load::memory_limit(comparing.memory));
  load::RunOptions options;
  options.microbatches = counts_of(comparing.microbatches);
  options.times = comparing.times;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    load::Run run;
    run.title = titles.at(i);
    run.loaded = std::make_unique<load::LoadedProgram>(*programs[i].for_step(options.microbatches));
    if (auto made = load::simulate_run(run, options, notes_); !made.ok()) {
      throw Failure(made.errors());
    }
    runs_.push_back(std::move(run));
  }
  for (std::string& note : load::size_notes(runs_, "")) notes_.push_back(std::move(note));
  rows_ = value_of(load::compared(runs_, options, comparing.seeds));
  options_ = {.runs = comparing.seeds,
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
  return view::svg(panels(), {.width = width.value_or(view::kPictureWidth)});
}

std::string Compared::html() const { return view::html(panels()); }

}  // namespace ripeline::python
