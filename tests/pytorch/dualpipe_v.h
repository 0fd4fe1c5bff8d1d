// The schedule of PyTorch's ScheduleDualPipeV as the text of a CSV. A table that PyTorch itself
// wrote is in tests/pytorch/loaded/.
#pragma once

#include <string>

namespace ripeline::testing_support {

// `microbatches` must be at least twice `ranks`.
[[nodiscard]] std::string dualpipe_v(int ranks, int microbatches);

}  // namespace ripeline::testing_support
