// Why the engines of a recorded run were idle, where its trace does not say it.
//
// A training run records its tasks and messages alone. What they imply is led through the watch
// that the simulator has (simulate/idle.h), rank by rank: until the task that ends an interval
// might have started, the cause is what kept the rank then, and from there on the host. What no
// trace has cannot be told: time in which a hint held the engine, or an engine handed a message
// over, counts as the host's or as that of a task that is put first. Pure function.
#pragma once

#include "trace/read.h"

namespace ripeline::simulate {

// Adds the idle intervals of all steps that ran as a whole. Nothing if it has some already, or is
// none of training.
void note_idle(trace::File& file);

}  // namespace ripeline::simulate
