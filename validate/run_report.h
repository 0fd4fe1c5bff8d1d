// The output of `ripeline check-run` for a run that was checked (docs/formats.md).
//
// Pure functions.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "spec/program.h"
#include "trace/read.h"
#include "validate/run_check.h"

namespace ripeline::validate {

// `title` is the trace's name. The text ends with a newline.
[[nodiscard]] std::string report_text(const spec::Program& program, const trace::File& file,
                                      const std::string& title, const RunCheck& check);
[[nodiscard]] nlohmann::json report_json(const spec::Program& program, const trace::File& file,
                                         const RunCheck& check);

}  // namespace ripeline::validate
