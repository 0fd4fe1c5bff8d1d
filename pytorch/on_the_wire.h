// The group of rules that asks wire/ whether every action ends.
#pragma once

#include "pytorch/checking.h"

namespace ripeline::pytorch {

void check_deadlock(ScheduleCheck& checking);  // deadlock mismatch

}  // namespace ripeline::pytorch
