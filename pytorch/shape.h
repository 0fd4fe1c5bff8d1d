// The shape that a table is judged by: taken from options where they are given, else from the file.
#pragma once

#include "pytorch/check.h"

namespace ripeline::verify {

[[nodiscard]] spec::Result<CheckShape> shape_of(const spec::ActionTable& table,
                                                const CheckOptions& options);

}  // namespace ripeline::verify
