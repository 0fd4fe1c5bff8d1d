// The command line of gpt.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.h"
#include "runtime/instruments.h"
#include "runtime/torch/loss_scale.h"
#include "schedules.h"

namespace gpt {

struct Options {
  std::vector<const Schedule*> schedules;  // one to train under, or two to compare
  int steps = 40;
  int microbatches = 8;
  std::int64_t batch = 4;
  ModelConfig model;
  double rate = 3e-3;
  double clip = 1.0;
  int accumulate = 1;              // passes of the pipeline to a step
  std::string device = "cpu";      // as TorchDevice::open() has it
  std::string precision = "fp32";  // or what forwards run in under autocast
  std::string loss_scale;          // empty, a number or "dynamic"
  bool recompute = false;
  std::string text = "/usr/share/common-licenses";
  int check = 0;  // how many steps to compare with the unpipelined model
  // Delays and the file of a trace; without their flags, those of the environment.
  ripeline::runtime::Instruments instruments = ripeline::runtime::instruments_of_environment();
  std::chrono::seconds silence{30};  // when to give up on a silent process; `stall`: on all
  std::chrono::seconds stall{600};
  std::chrono::seconds connect_limit{30};
  std::string json;  // a file; empty: none
  bool threads = false;

  [[nodiscard]] std::optional<torch::ScalarType> autocast() const;
  [[nodiscard]] std::optional<ripeline::runtime::LossScaling> loss_scaling() const;
  [[nodiscard]] bool compares() const { return schedules.size() == 2; }
};

// Returns true to go on; else the program ends with `exit_code`: help, a list, or a mistake.
bool read_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace gpt
