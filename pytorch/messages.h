// Groups of rules about the actions of a compute_comms table that are not computations.
#pragma once

#include "pytorch/checking.h"

namespace ripeline::pytorch {

void check_messages(ScheduleCheck& checking);  // message unpaired, order of sends and receives
void check_reduce_and_shard(ScheduleCheck& checking);  // reduce shard

}  // namespace ripeline::pytorch
