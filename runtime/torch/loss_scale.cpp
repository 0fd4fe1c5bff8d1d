#include "runtime/torch/loss_scale.h"

#include <cmath>
#include <string>

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

Status LossScale::check() const {
  if (!scaling_) return {};
  if (!std::isfinite(scaling_->first) || scaling_->first <= 0) {
    return {StatusCode::invalid, "a loss scale is above 0, not " + std::to_string(scaling_->first)};
  }
  if (scaling_->grow_after < 0) {
    return {StatusCode::invalid,
            "a loss scale cannot grow after " + std::to_string(scaling_->grow_after) + " steps"};
  }
  return {};
}

Status LossScale::ended(const Status& finite, bool& skipped) {
  skipped = false;
  if (!scaling_) return finite;
  const bool is_dynamic = scaling_->grow_after > 0;
  if (finite.ok()) {
    if (is_dynamic && ++good_ == scaling_->grow_after) {
      value_ *= 2;
      good_ = 0;
    }
    return {};
  }
  if (is_dynamic && value_ < 2) {
    return {finite.code(), finite.message() + ", at a loss scale of " + std::to_string(value_)};
  }
  skipped = true;
  good_ = 0;
  if (is_dynamic) value_ /= 2;
  return {};
}

}  // namespace ripeline::runtime
