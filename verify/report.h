// report: a Verdict as text for a person and as JSON for a program.
//
// The text is what `ripeline verify` prints, the JSON its `--format json` (docs/formats.md). Pure
// functions; never throw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "spec/diagnostics.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::verify {

// The verdict on the first line, each obligation, runs drawn per rank with the blocked tasks marked
// `>`, the assumptions. Ends with a newline.
[[nodiscard]] std::string report_text(const spec::Program& program, const spec::Source& source,
                                      const Verdict& verdict);

// One object. Its values are the same on every machine but for `seconds`.
[[nodiscard]] nlohmann::json report_json(const spec::Program& program, const spec::Source& source,
                                         const Verdict& verdict);

// A run that `ripeline step --from` and tests replay: the counterexample of the first obligation
// that has one, or else the first run of `other_choices`. Errors: replay-*.
struct RecordedRun {
  int microbatches = 0;
  std::vector<spec::Event> events;
  int members = 1;  // above 1: the run is for spec::GroupMachine
};
[[nodiscard]] spec::Result<RecordedRun> read_run(const spec::Program& program,
                                                 std::string_view json);
// Reads one `counterexample` of a report. It may have no events: a program may stick at once.
[[nodiscard]] spec::Result<RecordedRun> read_counterexample(const spec::Program& program,
                                                            const nlohmann::json& run);

}  // namespace ripeline::verify
