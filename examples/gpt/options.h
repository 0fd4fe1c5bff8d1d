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
  std::vector<const Schedule*> schedules;  // one to train with, or two to compare
  int steps = 40;
  int microbatches = 8;
  std::int64_t batch = 4;
  ModelConfig model;
  double rate = 3e-3;
  double clip = 1.0;
  int accumulate = 1;              // passes of the pipeline per step
  std::string device = "cpu";      // in the form that TorchDevice::open() takes
  std::string precision = "fp32";  // or the type of forwards under autocast
  std::string loss_scale;          // empty, a number or "dynamic"
  bool recompute = false;
  std::string text = "/usr/share/common-licenses";
  int check = 0;  // the number of steps to compare with the unpipelined model
  // The delays and the trace's file. If their flags are not given, the environment sets them.
  ripeline::runtime::Instruments instruments = ripeline::runtime::instruments_of_environment();
  std::chrono::seconds silence{30};  // for a silent process; `stall` is for a run without progress
  std::chrono::seconds stall{600};
  std::chrono::seconds connect_limit{30};
  std::string json;  // the file for results; empty if there is none
  bool threads = false;

  [[nodiscard]] std::optional<torch::ScalarType> autocast() const;
  [[nodiscard]] std::optional<ripeline::runtime::LossScaling> loss_scaling() const;
  [[nodiscard]] bool compares() const { return schedules.size() == 2; }
};

// Returns false if help, a list or an error was printed and the program must end with `exit_code`.
bool read_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace gpt
