// LossScale: the factor by which the loss is multiplied before the backward, so that small
// gradients do not vanish in a narrow type; it is lowered when a gradient is not finite.
//
// As in torch.amp.GradScaler, a step whose gradients are not all finite is skipped and halves the
// scale; `grow_after` good steps in a row double it. A value without I/O: ranks on which the calls
// are the same have the same scale.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace ripeline::runtime {

struct LossScaling {
  double first = 65536;   // a power of two changes no bit of a gradient, except of the tiniest ones
  int grow_after = 2000;  // 0: the scale stays as it is
};

class LossScale {
 public:
  // Without scaling, or with `scaling`.
  LossScale() = default;
  explicit LossScale(const LossScaling& scaling) : scaling_(scaling), value_(scaling.first) {}

  // Whether the scaling makes sense.
  [[nodiscard]] core::Status check() const;
  [[nodiscard]] double value() const { return value_; }

  // A step has ended; `finite` is ok, or says which gradient is not finite. Then the step is
  // skipped, or `finite` returned if there is no scaling or half of the scale would be below 1.
  core::Status ended(const core::Status& finite, bool& skipped);

 private:
  std::optional<LossScaling> scaling_;
  double value_ = 1;
  int good_ = 0;  // steps since the scale changed
};

}  // namespace ripeline::runtime
