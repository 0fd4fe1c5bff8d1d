#include "python/recorded.h"

#include "load/steps.h"
#include "python/failure.h"

namespace ripeline::python {

Recorded::Recorded(const std::string& path, const std::optional<std::string>& steps) {
  std::optional<trace::StepRange> range;
  if (steps) range = value_of(load::steps_in(*steps), "--step");
  run_ = std::make_shared<const load::Run>(value_of(load::read_trace(path, range, notes_)));
}

std::string Recorded::explain(const std::string& task) const {
  return value_of(load::explained(*run_, task));
}

}  // namespace ripeline::python
