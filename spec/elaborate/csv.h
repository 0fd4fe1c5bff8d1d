// After the hints: the file of the order that the dispatch uses, each row a rank's tasks as PyTorch
// writes them.
//
// Other orders from files are not read: they change nothing. Errors: csv-….
#pragma once

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Needs lanes and the dispatch; reads with ElaborateOptions::read_file.
void read_orders(Work& work);

}  // namespace ripeline::spec::elaboration
