// The output of `ripeline recheck`, as text and as JSON.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "certificates/recheck.h"

namespace ripeline::certificates {

// `solver` is the name and version of the solver that was asked. The text ends with a newline.
[[nodiscard]] std::string recheck_text(const std::string& folder, const RecheckReport& report,
                                       const std::string& solver);
[[nodiscard]] nlohmann::json recheck_json(const RecheckReport& report, const std::string& solver);

}  // namespace ripeline::certificates
