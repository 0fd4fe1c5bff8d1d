#include "core/facts.h"
#include "schedule.h"

int main() { return ripeline::core::kCoreVersion == 1 ? 0 : 1; }
