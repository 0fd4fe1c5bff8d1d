#include "load/judged.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "optimise/repair.h"
#include "pytorch/program.h"
#include "spec/long_work.h"
#include "verify/findings.h"
#include "verify/report.h"

namespace ripeline::load {

void add_repairs(const LoadedProgram& loaded, const std::string& file, bool search,
                 verify::Verdict& verdict) {
  if (loaded.form == InputForm::schedule) {
    pytorch::speak_of_schedule(
        verdict, fmt::format("`ripeline check {} --fix FILE` looks for a repair.", file));
  } else if (search && verdict.outcome != verify::Outcome::proved) {
    spec::part_begins("repairs");
    optimise::add_repairs(
        verdict, optimise::find_repairs(loaded.source, loaded.options, loaded.program, verdict));
  }
}

void leave_out_times(verify::Verdict& verdict) {
  for (verify::Obligation& obligation : verdict.obligations) obligation.seconds = -1;
}

nlohmann::json verdict_json(const LoadedProgram& loaded, const verify::Verdict& verdict) {
  nlohmann::json document = verify::report_json(loaded.program, loaded.source, verdict);
  document["warnings"] = verify::diagnostics_json(&loaded.source, warnings_of(loaded));
  return document;
}

}  // namespace ripeline::load
