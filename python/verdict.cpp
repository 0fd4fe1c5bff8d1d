#include "python/verdict.h"

#include <nlohmann/json.hpp>

#include "load/document.h"
#include "load/judged.h"
#include "load/run.h"
#include "python/failure.h"
#include "verify/report.h"

namespace ripeline::python {

std::string Verdict::text() const {
  return verify::report_text(loaded_->program, loaded_->source, verdict_);
}

std::string Verdict::json() const {
  nlohmann::json document = load::verdict_json(*loaded_, verdict_);
  document["file"] = loaded_->source.name;
  return load::document_text(document);
}

std::vector<std::string> Verdict::repaired_texts() const {
  std::vector<std::string> texts;
  for (const verify::Obligation& obligation : verdict_.obligations) {
    for (const verify::ProvedRepair& repair : obligation.repairs) texts.push_back(repair.program);
  }
  return texts;
}

std::optional<Drawing> Verdict::drawn_run() const {
  const auto run = verify::recorded_run(verdict_);
  if (!run || run->members > 1) return std::nullopt;
  return Drawing(value_of(load::refuting_run(*loaded_, *run)));
}

}  // namespace ripeline::python
