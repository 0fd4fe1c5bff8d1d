// The settings that must be equal on all of gpt's ranks, since loss and gradients depend on them.
#pragma once

#include "options.h"
#include "runtime/configuration.h"

namespace gpt {

// Reads the training text, since its digest is one of the settings.
[[nodiscard]] ripeline::runtime::Configuration configuration_of(const Options& options);

}  // namespace gpt
