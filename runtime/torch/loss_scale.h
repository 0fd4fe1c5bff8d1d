// LossScale: by what the loss is multiplied before the backward, so that small gradients do not
// vanish in a narrow type, and when that was too much.
//
// As torch.amp.GradScaler has it: a step whose gradients are not all finite is skipped, and halves
// the scale; `grow_after` good steps in a row double it. A value without I/O: ranks that are told
// the same have the same scale.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace ripeline::runtime {

struct LossScaling {
  double first = 65536;   // powers of two change no bit of a gradient, but of the tiniest
  int grow_after = 2000;  // 0: the scale stays as it is
};

class LossScale {
 public:
  // Without scaling, or by it.
  LossScale() = default;
  explicit LossScale(const LossScaling& scaling) : scaling_(scaling), value_(scaling.first) {}

  // Whether the scaling makes sense.
  [[nodiscard]] core::Status check() const;
  [[nodiscard]] double value() const { return value_; }

  // A step has ended, with finite gradients or the failure that says which are not: skipped, or the
  // failure where no smaller scale would help: without one, or when half of it would be below 1.
  core::Status ended(const core::Status& finite, bool& skipped);

 private:
  std::optional<LossScaling> scaling_;
  double value_ = 1;
  int good_ = 0;  // steps since the scale changed
};

}  // namespace ripeline::runtime
