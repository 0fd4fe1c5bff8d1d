#include "python/program.h"

#include <algorithm>
#include <limits>

#include "load/counts.h"
#include "load/judged.h"
#include "load/megatron.h"
#include "python/choice.h"
#include "python/failure.h"
#include "python/number.h"
#include "python/path.h"
#include "pytorch/check_report.h"
#include "pytorch/export.h"
#include "spec/forward_only.h"
#include "spec/parse.h"
#include "spec/render.h"
#include "spec/sequential.h"
#include "verify/every_depth.h"
#include "verify/verify.h"

namespace ripeline::python {
namespace {

// The name in messages of a text without a file.
constexpr const char* kTextName = "<text>";

load::ProgramOptions options_of(const Options& options) {
  using pytorch::Placement;
  load::ProgramOptions with;
  with.defines = options.defines;
  with.dispatch = options.dispatch;
  with.placement =
      chosen("--placement", options.placement, {Placement::chain, Placement::loop, Placement::v});
  return with;
}

verify::VerifyOptions options_of(const Program::Judging& judging) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  check_integer("--steps", judging.steps, 0, kMost);
  verify::VerifyOptions options;
  if (judging.steps) options.solver_steps = static_cast<std::uint64_t>(*judging.steps);
  return options;
}

}  // namespace

std::optional<load::Counts> counts_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return value_of(load::counts_in(*text), "-m");
}

Program Program::made(spec::Result<load::LoadedProgram> loaded, load::ProgramOptions options,
                      load::Reading reading) {
  auto program = std::make_shared<const load::LoadedProgram>(value_of(std::move(loaded), reading));
  return {std::move(program), std::move(options), std::move(reading.notes)};
}

Program Program::of_name(const std::string& name, const Options& options) {
  const load::ProgramOptions with = options_of(options);
  load::Reading reading;
  auto loaded = load::read_program(as_file(name), with, &reading);
  return made(std::move(loaded), with, std::move(reading));
}

Program Program::of_file(const std::string& path, const Options& options) {
  const load::ProgramOptions with = options_of(options);
  load::Reading reading;
  auto loaded = load::program_of_text(value_of(load::read_file(as_file(path))), with, &reading);
  return made(std::move(loaded), with, std::move(reading));
}

Program Program::of_text(const std::string& text, const Options& options) {
  const load::ProgramOptions with = options_of(options);
  load::Reading reading;
  auto loaded = load::program_of_text({.name = kTextName, .text = text}, with, &reading);
  return made(std::move(loaded), with, std::move(reading));
}

Program Program::of_schedule(const std::string& path, const Options& options) {
  const load::ProgramOptions with = options_of(options);
  load::Reading reading;
  auto loaded = load::program_of_text(value_of(load::read_schedule(as_file(path))), with, &reading);
  return made(std::move(loaded), with, std::move(reading));
}

Program Program::of_megatron(const std::map<std::string, std::int64_t>& options) {
  load::MegatronOptions with;
  for (const auto& [name, value] : options) {
    for (const load::MegatronOption& option : load::megatron_options()) {
      const std::string flag = "--" + name;
      if (flag != option.name) continue;
      check_integer(flag, std::optional(value), 1, load::kMostOfMegatron);
      with.*option.value = value;
    }
  }
  const std::string text = value_of(load::megatron_program(with));
  load::Reading reading;
  auto loaded = load::program_of_text({.name = "megatron", .text = text}, {}, &reading);
  return made(std::move(loaded), {}, std::move(reading));
}

Program::State Program::state() const {
  return {.source = loaded().source,
          .is_schedule = loaded().form == load::InputForm::schedule,
          .files = *loaded().files,
          .defines = options_.defines,
          .dispatch = options_.dispatch,
          .notes = notes_};
}

Program Program::of_state(const State& state) {
  using load::InputForm;
  load::ProgramOptions options;
  options.defines = state.defines;
  options.dispatch = state.dispatch;
  load::Reading reading;
  auto loaded =
      load::made_of({state.source, state.is_schedule ? InputForm::schedule : InputForm::program},
                    state.files, options, &reading);
  reading.notes = state.notes;
  return made(std::move(loaded), std::move(options), std::move(reading));
}

std::string Program::hash_text() const { return spec::hash_text(hash()); }

std::pair<int, std::optional<int>> Program::microbatches() const {
  const spec::MicrobatchRange& range = loaded().program.microbatches;
  return {range.min, range.max};
}

std::string Program::warnings_text() const {
  return spec::render(loaded().source, load::warnings_of(loaded()), spec::Severity::warning);
}

Program Program::with_text(const std::string& text) const {
  load::LoadedProgram other = loaded();
  other.source.text = text;
  load::Reading reading{.input = load::Input{other.source, other.form}, .notes = notes_};
  auto loaded = load::made_again(other, options_);
  return made(std::move(loaded), options_, std::move(reading));
}

Program Program::rewritten(const std::string& text) const {
  load::LoadedProgram other = loaded();
  other.source = {.name = kTextName, .text = text};
  other.form = load::InputForm::program;
  load::Reading reading{.input = load::Input{other.source, other.form}, .notes = {}};
  auto loaded = load::made_again(other, {});
  return made(std::move(loaded), {}, std::move(reading));
}

Program Program::sequential(const std::set<std::string>& kinds) const {
  const load::Reading reading{.input = load::Input{loaded().source, loaded().form}, .notes = {}};
  return with_text(
      value_of(spec::sequential(value_of(spec::parse(loaded().source), reading), kinds), reading));
}

std::vector<std::string> Program::kinds() const {
  std::vector<std::string> kinds;
  for (const spec::Op& op : loaded().program.ops) {
    std::string& kind = kinds.emplace_back(core::name_of(op.kind));
    std::replace(kind.begin(), kind.end(), '_', ' ');
  }
  return kinds;
}

std::vector<int> Program::placement() const {
  std::vector<int> ranks;
  for (const spec::Stage& stage : loaded().program.stages) ranks.push_back(stage.rank);
  return ranks;
}

bool Program::is_chain() const {
  const std::vector<spec::Stage>& stages = loaded().program.stages;
  for (int s = 0; s < static_cast<int>(stages.size()); ++s) {
    const spec::Stage& stage = stages[static_cast<std::size_t>(s)];
    if (stage.prev != (s == 0 ? std::vector<int>{} : std::vector{s - 1})) return false;
  }
  return true;
}

bool Program::is_committed() const {
  const spec::Program& program = loaded().program;
  std::vector<int> lanes(static_cast<std::size_t>(program.ranks));
  bool one_engine = true;
  bool sequential = true;
  for (const spec::Lane& lane : program.lanes) {
    ++lanes[static_cast<std::size_t>(lane.rank)];
    one_engine = one_engine && lane.engine == core::Engine::compute;
    sequential = sequential && lane.sequential;
  }
  const auto is_one = [](int count) { return count == 1; };
  const bool one_lane = sequential && std::all_of(lanes.begin(), lanes.end(), is_one);
  return one_engine && (program.dispatch.in_order || one_lane);
}

Program Program::forward_only() const {
  const load::Reading reading{.input = load::Input{loaded().source, loaded().form}, .notes = {}};
  const std::string text =
      value_of(spec::forward_only(value_of(spec::parse(loaded().source), reading)), reading);
  return of_text(text, {.defines = options_.defines, .dispatch = {}, .placement = {}});
}

Program::Loaded Program::again(const load::ProgramOptions& options) const {
  const load::Reading reading{.input = load::Input{loaded().source, loaded().form}, .notes = {}};
  return std::make_shared<const load::LoadedProgram>(
      value_of(load::made_again(loaded(), options), reading));
}

Program::Loaded Program::for_step(const std::optional<load::Counts>& counts) const {
  return counts ? again(load::of_step(options_, counts)) : loaded_;
}

Verdict Program::verify(const Judging& judging) const {
  if (judging.every_rank) return verify_every_rank(judging);
  load::ProgramOptions options = options_;
  options.microbatches = counts_of(judging.microbatches);
  Loaded judged = options.microbatches ? again(options) : loaded_;
  verify::Verdict verdict = verify::verify(judged->program, options_of(judging));
  load::add_repairs(*judged, judged->source.name, judging.repairs, verdict);
  if (!judging.times) load::leave_out_times(verdict);
  return {std::move(judged), std::move(verdict)};
}

Verdict Program::verify_every_rank(const Judging& judging) const {
  load::ProgramOptions options = load::of_every_rank(options_);
  options.microbatches = counts_of(judging.microbatches);
  const load::Reading reading{.input = load::Input{loaded().source, loaded().form}, .notes = {}};
  load::LoadedTree tree = value_of(load::tree_again(loaded(), options), reading);
  auto [verdict, sample] = value_of(
      verify::verify_every_depth(tree.tree, tree.source, tree.options, options_of(judging)),
      reading);
  if (!judging.times) load::leave_out_times(verdict);
  return {std::make_shared<const load::LoadedProgram>(
              load::LoadedProgram{.source = std::move(tree.source),
                                  .program = std::move(sample),
                                  .options = std::move(tree.options)}),
          std::move(verdict)};
}

Simulated Program::simulate(const std::optional<std::string>& microbatches,
                            const load::TimeOptions& times) const {
  const auto counts = counts_of(microbatches);
  Loaded step = for_step(counts);
  const int count = value_of(load::count_of_step(counts, step->program));
  return Simulated(std::move(step), count, times);
}

std::string Program::export_csv(const std::optional<std::string>& microbatches,
                                const std::string& form) const {
  using pytorch::ActionForm;
  const auto counts = counts_of(microbatches);
  const Loaded step = for_step(counts);
  const int count = value_of(load::count_of_step(counts, step->program));
  const auto chosen_form =
      *chosen("--form", std::optional(form), {ActionForm::compute_only, ActionForm::compute_comms});
  const load::Reading reading{.input = load::Input{step->source, step->form}, .notes = {}};
  pytorch::ExportedFile file =
      value_of(pytorch::export_file(step->program, count, chosen_form), reading);
  if (file.report.verdict == verify::Outcome::proved) return std::move(file.text);
  throw Failure(
      {spec::failure(std::string(pytorch::kNeedsMore) + "\n" +
                     pytorch::check_text(kTextName, file.table, file.report, file.options))});
}

}  // namespace ripeline::python
