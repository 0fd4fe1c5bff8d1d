// The binding of training, for the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace ripeline::python {

// Adds the objects by which Python trains (python/worker.h).
void bind_worker(nanobind::module_& m);

}  // namespace ripeline::python
