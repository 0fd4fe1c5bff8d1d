// The hint of a program's dispatch, as the tables of core/vocabulary/hint.h. Pure functions.
#pragma once

#include "core/vocabulary/hint.h"
#include "spec/program.h"

namespace ripeline::spec {

[[nodiscard]] core::Hint hint_of(const Program& program, int rank);

}  // namespace ripeline::spec
