// Groups of rules about single actions and their order; pytorch/check.h has the rules by id.
#pragma once

#include "pytorch/checking.h"

namespace ripeline::pytorch {

void check_cells(ScheduleCheck& checking);   // form overlap ranks
void check_places(ScheduleCheck& checking);  // stage owner microbatch
void check_counts(ScheduleCheck& checking);  // repeated missing mixed
void check_order(ScheduleCheck& checking);   // order
void check_memory(ScheduleCheck& checking);  // memory

}  // namespace ripeline::pytorch
