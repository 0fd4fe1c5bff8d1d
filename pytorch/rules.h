// Groups of rules about single actions and their order; pytorch/check.h has the rules by their ids.
#pragma once

#include "pytorch/checking.h"

namespace ripeline::verify {

void check_cells(Checking& checking);   // form overlap ranks
void check_places(Checking& checking);  // stage owner microbatch
void check_counts(Checking& checking);  // repeated missing mixed
void check_order(Checking& checking);   // order
void check_memory(Checking& checking);  // memory

}  // namespace ripeline::verify
