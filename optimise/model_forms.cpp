#include "optimise/model_forms.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "optimise/cuts.h"
#include "optimise/rank_bounds.h"

namespace ripeline::optimise {
namespace {

constexpr std::int64_t kMostTasksOfCuts = 15'000;  // in all searched cuts of a placement together
constexpr std::int64_t kMostCuts = 200;

Cuts cuts_of(const PlacedModel& model, const simulate::TimingOptions& times, Objective objective) {
  const RankBounds::Times of_bounds{.unit = times.unit.value_or(simulate::plain_unit()).nanoseconds,
                                    .latency = times.latency.value_or(0),
                                    .only_latency = !times.bytes_per_second};
  const std::int64_t lanes = std::int64_t{3} * model.stages();
  const std::int64_t most = kMostTasksOfCuts / (lanes * model.microbatches);
  Cuts cuts = best_cuts(model, of_bounds, objective,
                        static_cast<std::size_t>(std::clamp<std::int64_t>(most, 1, kMostCuts)));
  // Bounds of cuts ignore faster ranks. They stay valid if multiplied by the fastest rank's factor.
  double least = 1;
  for (const auto& [rank, factor] : times.jitter.slow) least = std::min(least, factor);
  if (cuts.rest != Cuts::kNoOther && least < 1) {
    cuts.rest = static_cast<Time>(static_cast<double>(cuts.rest) * least);
  }
  return cuts;
}

// Adds the form of a model whose cut is set.
spec::Result<void> add_form(const PlacedModel& model, bool of_profile, Objective objective,
                            ModelForms& all) {
  spec::Source source{kPlacedModel, program_text(model)};
  auto program = spec::compile(source);
  if (!program.ok()) {  // the user did not write this text
    return spec::failure("the model that the flags describe: " + program.errors().front().message);
  }
  auto problem = Problem::make(std::move(program).value(), model.microbatches,
                               simulate::means_of(all.times), objective);
  if (!problem.ok()) return problem.errors();
  all.forms.push_back({name_of(model.placement, model.chunks), std::move(source),
                       std::move(problem).value(), has_room(model)});
  all.parts.push_back(parts_of(model));
  if (of_profile) all.first_layers.push_back(model.first_layers);
  return {};
}

}  // namespace

bool ModelForms::varies() const {
  if (times.jitter.draws()) return true;
  simulate::Timing timing;
  const Problem& problem = *forms.front().problem;
  return simulate::Timing::make(problem.program(), problem.microbatches(), times, timing).ok() &&
         timing.draws();
}

std::string name_of(pytorch::Placement placement, int chunks) {
  return placement == pytorch::Placement::loop ? fmt::format("loop of {}", chunks)
                                               : pytorch::name_of(placement);
}

spec::Result<void> add_forms(const PlacedModel& model, bool of_profile, Objective objective,
                             ModelForms& all) {
  all.is_cut |= model.stages() < static_cast<int>(model.layers.size());
  Cuts cuts = cuts_of(model, all.times, objective);
  for (std::vector<int>& first_layers : cuts.best) {
    PlacedModel one = model;
    one.first_layers = std::move(first_layers);
    if (const auto s = add_form(one, of_profile, objective, all); !s.ok()) {
      return s.errors();
    }
  }
  const bool lower = all.other_cuts.by.empty() || cuts.rest < all.other_cuts.value;
  if (cuts.rest != Cuts::kNoOther && lower) {
    all.other_cuts = {cuts.rest, std::string(name_of(Formula::every_cut)), Formula::every_cut};
  }
  return {};
}

spec::Result<ModelForms> forms_of(spec::Program program, int microbatches,
                                  const spec::Source& source, const spec::ReadFile& read_file,
                                  const simulate::TimingOptions& times, Objective objective) {
  std::int64_t tasks = 0;
  for (int l = 0; l < size_of(program.lanes); ++l) tasks += program.tasks_of(l, microbatches);
  if (tasks > kMostTasks) {
    return spec::failure(fmt::format("-m: more than {} tasks are not searched", kMostTasks));
  }
  auto problem =
      Problem::make(std::move(program), microbatches, simulate::means_of(times), objective);
  if (!problem.ok()) return problem.errors();
  ModelForms forms;
  forms.forms.push_back({"", source, std::move(problem).value(), true});
  forms.parts = {1};
  forms.read_file = read_file;
  forms.times = times;
  return forms;
}

}  // namespace ripeline::optimise
