// render: diagnostics as text, as errors or as warnings. render() of spec/diagnostics.h is of
// errors.
//
// Pure; never throws.
#pragma once

#include <cstdint>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::spec {

enum class Severity : std::uint8_t {
  error,    // the program has no meaning
  warning,  // it has one, which is hardly what was meant
};

// As render(source, diagnostics), with `warning[id]` in the place of `error[id]`.
[[nodiscard]] std::string render(const Source& source, const Diagnostics& diagnostics,
                                 Severity severity);

}  // namespace ripeline::spec
