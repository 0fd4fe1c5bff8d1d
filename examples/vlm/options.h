// The command line of vlm.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules.h"

namespace vlm {

struct Options {
  std::vector<const Schedule*> schedules;  // one to train with, or two to compare
  int steps = 300;
  int microbatches = 4;
  int batch = 8;  // examples in a microbatch
  double rate = 3e-3;
  double clip = 1.0;
  std::uint64_t seed = 1;              // for parameters, batches and made examples
  int check = 0;                       // the number of steps to compare with the unpipelined model
  std::string data;                    // a folder; if empty, examples are made
  int count = 2048;                    // the number of examples that are made
  std::string make_data;               // the folder for made examples; if empty, the program trains
  std::string json;                    // the file for the results; empty if there is none
  std::chrono::microseconds sleep{0};  // the sleep of a forward, per patch of an image

  [[nodiscard]] bool compares() const { return schedules.size() == 2; }
};

// Returns false if help or an error was printed and the program must end with `exit_code`.
bool read_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace vlm
