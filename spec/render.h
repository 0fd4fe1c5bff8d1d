// render: diagnostics as text, as errors or as warnings. The render() of spec/diagnostics.h writes
// errors only.
//
// Pure; never throws.
#pragma once

#include <cstdint>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::spec {

enum class Severity : std::uint8_t {
  error,    // the program has no meaning
  warning,  // the program has a meaning, hardly the intended one
};

// Does the same as render(source, diagnostics), with `warning[id]` for warnings.
[[nodiscard]] std::string render(const Source& source, const Diagnostics& diagnostics,
                                 Severity severity);

}  // namespace ripeline::spec
