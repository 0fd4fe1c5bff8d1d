#include "python/checked.h"

#include <nlohmann/json.hpp>

#include "load/counts.h"
#include "load/document.h"
#include "load/input.h"
#include "python/choice.h"
#include "python/failure.h"
#include "pytorch/check_report.h"

namespace ripeline::python {
namespace {

pytorch::CheckOptions options_of(const CheckOptions& options) {
  using pytorch::ActionForm;
  using pytorch::Placement;
  pytorch::CheckOptions with;
  with.placement =
      chosen("placement", options.placement, {Placement::chain, Placement::loop, Placement::v});
  with.form = chosen("form", options.form, {ActionForm::compute_only, ActionForm::compute_comms});
  with.ranks = options.ranks;
  with.stages = options.stages;
  if (options.microbatches) {
    with.microbatches = value_of(load::one_count(value_of(load::counts_in(*options.microbatches))));
  }
  if (options.memory) with.rank_memory = value_of(load::room_in(*options.memory));
  with.stage_memory = options.stage_memory;
  return with;
}

}  // namespace

Checked::Checked(const std::string& path, const CheckOptions& options)
    : source_(value_of(load::read_schedule(path))),
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

}  // namespace ripeline::python
