// LossScale: the factor by which the loss is multiplied before the backward, so that small
// gradients do not vanish in a narrow type. It is lowered when a gradient is not finite.
//
// As in torch.amp.GradScaler, a step whose gradients are not all finite is skipped and halves the
// scale; `grow_after` good steps in a row double the scale. A value without I/O: ranks that make
// the same calls have the same scale.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace ripeline::runtime {

struct LossScaling {
  double first = 65536;   // a power of two changes no bits, except of the tiniest gradients
  int grow_after = 2000;  // if 0, the scale never grows
};

class LossScale {
 public:
  // The first constructor has the constant scale 1; the second follows `scaling`.
  LossScale() = default;
  explicit LossScale(const LossScaling& scaling) : scaling_(scaling), value_(scaling.first) {}

  // Fails if the values of the scaling are out of range.
  [[nodiscard]] core::Status check() const;
  [[nodiscard]] double value() const { return value_; }

  // Notes the end of a step. `finite` is ok or names a gradient that is not finite. In that case
  // the step is skipped; without scaling, or if half of the scale is below 1, `finite` is returned.
  core::Status ended(const core::Status& finite, bool& skipped);

 private:
  std::optional<LossScaling> scaling_;
  double value_ = 1;
  int good_ = 0;  // steps since the scale changed
};

}  // namespace ripeline::runtime
