// Finds why the engines of a recorded run were idle, if its trace does not contain the causes.
//
// A training run records only its tasks and messages. These are passed, rank by rank, to the watch
// that the simulator uses (simulate/idle.h). An interval ends with the start of a task. Until that
// task could start, the cause is what prevented it; after that, it is the host. Some causes are in
// no trace: time in which a hint held the engine, or the engine handed a message over, counts as
// the host's, or as that of an order that puts another task first. Pure function.
#pragma once

#include "trace/read.h"

namespace ripeline::simulate {

// Adds the idle intervals of all steps that ran completely. Adds none if the file has some already,
// or is not of a training run.
void note_idle(trace::File& file);

}  // namespace ripeline::simulate
