// Step after the hints: reads the file of the order that the dispatch uses. Each row of the file
// has a rank's tasks in PyTorch's notation.
//
// Other orders from files are not read, since nothing uses them. Errors: csv-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Requires lanes and the dispatch; reads with ElaborateOptions::read_file.
void read_orders(Work& work);

}  // namespace ripeline::spec::elaboration
