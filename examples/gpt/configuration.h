// The settings that gpt's ranks must have equal: all that loss and gradients follow from.
#pragma once

#include "options.h"
#include "runtime/configuration.h"

namespace gpt {

// Reads the text, for its digest.
[[nodiscard]] ripeline::runtime::Configuration configuration_of(const Options& options);

}  // namespace gpt
