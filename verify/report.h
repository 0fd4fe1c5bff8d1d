// report: prints a Verdict as text for people and as JSON for programs.
//
// `ripeline verify` prints the text, and `ripeline verify --format json` the JSON
// (docs/formats.md). Pure functions; never throw.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "spec/diagnostics.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::verify {

// The verdict on the first line; then each obligation, with its run drawn rank by rank and blocked
// tasks marked `>`; then the assumptions. The text ends with a newline.
[[nodiscard]] std::string report_text(const spec::Program& program, const spec::Source& source,
                                      const Verdict& verdict);

// A title, such as: refuted: deadlock, with 2 microbatches (the fewest)
[[nodiscard]] std::string title_of(const Obligation& obligation);

// One object. Its values, except `seconds`, are the same on every machine.
[[nodiscard]] nlohmann::json report_json(const spec::Program& program, const spec::Source& source,
                                         const Verdict& verdict);

// A run that `ripeline step --from` and tests replay. It is the counterexample of the first
// obligation that has one or, if none has one, the first run in `other_choices`. Errors: replay-*.
struct RecordedRun {
  int microbatches = 0;
  std::vector<spec::Event> events;
  int members = 1;  // if above 1, the run is one of spec::GroupMachine
};
// nullopt if the verdict has no run.
[[nodiscard]] std::optional<RecordedRun> recorded_run(const Verdict& verdict);
[[nodiscard]] spec::Result<RecordedRun> read_run(const spec::Program& program,
                                                 std::string_view json);
// Reads one `counterexample` of a report. It may have no events, as a program may stick at once.
[[nodiscard]] spec::Result<RecordedRun> read_counterexample(const spec::Program& program,
                                                            const nlohmann::json& run);

}  // namespace ripeline::verify
