// The command line of vlm.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules.h"

namespace vlm {

struct Options {
  std::vector<const Schedule*> schedules;  // one to train under, or two to compare
  int steps = 300;
  int microbatches = 4;
  int batch = 8;  // examples in a microbatch
  double rate = 3e-3;
  double clip = 1.0;
  std::uint64_t seed = 1;              // for parameters, batches and made examples
  int check = 0;                       // how many steps to compare with the unpipelined model
  std::string data;                    // a folder; empty: examples are made
  int count = 2048;                    // how many examples are made
  std::string make_data;               // the folder to write them to; empty: train
  std::string json;                    // the file for the results; empty: none
  std::chrono::microseconds sleep{0};  // a forward's, for each patch of an image

  [[nodiscard]] bool compares() const { return schedules.size() == 2; }
};

// Returns true to go on; else the program ends with `exit_code`: help, or a mistake.
bool read_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace vlm
