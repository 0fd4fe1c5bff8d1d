// The part of an emulated run's report that simulate/report.h lacks: how late the ranks were, and
// how the run compares with the simulated run of the same times.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "emulate/emulate.h"
#include "simulate/report.h"

namespace ripeline::emulate {

struct SimulatedRun {
  simulate::RunReport run;
  trace::Record record;
};

// Lines that follow those of simulate::report_text().
[[nodiscard]] std::string more_text(const simulate::ReportedRun& reported,
                                    const EmulatedRun& emulated, const SimulatedRun& simulated);
// An object with the member `emulated`, for the JSON of the report.
[[nodiscard]] nlohmann::json more_json(const simulate::ReportedRun& reported,
                                       const EmulatedRun& emulated, const SimulatedRun& simulated);

}  // namespace ripeline::emulate
