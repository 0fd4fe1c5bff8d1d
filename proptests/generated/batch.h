// The random programs and generated arbiters that write_batch wrote, for agrees_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "validate/probe/probe.h"

namespace ripeline::proptests {

struct GeneratedProgram {
  std::uint64_t seed;  // for random_program_text()
  const char* text;    // the program
  std::unique_ptr<core::Arbiter> (*make_arbiter)(int rank);
  validate::Probe probe;
};

// Each batch is a file of its own, so that batches are compiled in parallel.
std::vector<GeneratedProgram> batch_0();
std::vector<GeneratedProgram> batch_1();
std::vector<GeneratedProgram> batch_2();
std::vector<GeneratedProgram> batch_3();
constexpr int kBatches = 4;

}  // namespace ripeline::proptests
