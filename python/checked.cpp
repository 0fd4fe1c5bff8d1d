#include "python/checked.h"

#include <nlohmann/json.hpp>

#include "load/counts.h"
#include "load/document.h"
#include "load/input.h"
#include "python/choice.h"
#include "python/failure.h"
#include "python/number.h"
#include "python/path.h"
#include "pytorch/check_report.h"
#include "pytorch/fix.h"

namespace ripeline::python {
namespace {

pytorch::CheckOptions options_of(const CheckOptions& options) {
  using pytorch::ActionForm;
  using pytorch::Placement;
  using wire::WireKernels;
  using wire::WireLayout;
  check_integer("--ranks", options.ranks, 1);
  check_integer("--stages", options.stages, 1);
  check_integer("--stage-memory", options.stage_memory, 1);
  pytorch::CheckOptions with;
  with.placement =
      chosen("--placement", options.placement, {Placement::chain, Placement::loop, Placement::v});
  with.form = chosen("--form", options.form, {ActionForm::compute_only, ActionForm::compute_comms});
  if (options.ranks) with.ranks = static_cast<int>(*options.ranks);
  if (options.stages) with.stages = static_cast<int>(*options.stages);
  if (options.microbatches) {
    const auto counts = value_of(load::counts_in(*options.microbatches), "-m");
    with.microbatches = value_of(load::one_count(counts));
  }
  if (options.memory) {
    with.rank_memory = value_of(load::room_in(*options.memory), "--memory " + *options.memory);
  }
  with.stage_memory = options.stage_memory;
  with.layout =
      chosen("--layout", options.layout, {WireLayout::group, WireLayout::pair, WireLayout::edge})
          .value_or(with.layout);
  with.kernels = chosen("--kernels", options.kernels,
                        {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial})
                     .value_or(with.kernels);
  with.reduce = options.reduce;
  with.all_layouts = options.layouts;
  return with;
}

}  // namespace

Checked::Checked(const std::string& path, const CheckOptions& options)
    : source_(value_of(load::read_schedule(as_file(path)))),
      options_(options_of(options)),
      read_(pytorch::read_actions(source_.text)),
      report_(value_of(pytorch::check(read_, options_),
                       {.input = load::Input{source_, load::InputForm::schedule}, .notes = {}})) {}

std::string Checked::text() const {
  return pytorch::check_text(source_.name, read_.table, report_, options_);
}

std::string Checked::json() const {
  nlohmann::json document = pytorch::check_json(source_.name, source_.text, report_, options_);
  document["file"] = source_.name;
  return load::document_text(document);
}

Fixed Checked::fixed() const {
  if (report_.verdict == verify::Outcome::proved)
    throw Failure({spec::failure(pytorch::kNothingToRepair)});
  const auto repaired = pytorch::repair(read_, report_, options_);
  if (!repaired.ok()) {
    throw Failure({spec::failure(std::string(pytorch::kNoRepair) + ": " +
                                 repaired.errors().front().message)});
  }
  return {.csv = pytorch::write_actions(repaired.value().table),
          .changes = pytorch::repair_text(repaired.value())};
}

}  // namespace ripeline::python
