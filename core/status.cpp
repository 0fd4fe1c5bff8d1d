#include "core/status.h"

namespace ripeline::core {

void Status::copy(const Status& other) {
  if (this == &other) return;
  failure_ = other.ok() ? nullptr : std::make_unique<const Failure>(*other.failure_);
}

}  // namespace ripeline::core
