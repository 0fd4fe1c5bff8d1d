// The shape with which a table is judged, from the options if given, else from the file.
#pragma once

#include "pytorch/check.h"

namespace ripeline::pytorch {

[[nodiscard]] spec::Result<CheckShape> shape_of(const ActionTable& table,
                                                const CheckOptions& options);

}  // namespace ripeline::pytorch
