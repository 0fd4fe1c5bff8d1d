// The schedule that PyTorch's ScheduleDualPipeV makes, as the text of a CSV. tests/pytorch/loaded/
// has one that PyTorch wrote.
#pragma once

#include <string>

namespace ripeline::testing_support {

// `microbatches` is at least twice `ranks`.
[[nodiscard]] std::string dualpipe_v(int ranks, int microbatches);

}  // namespace ripeline::testing_support
