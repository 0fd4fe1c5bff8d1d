// TorchTrace: what tasks took on one rank, by PyTorch's profiler.
//
// The file is what export_chrome_trace() of torch.profiler ("Kineto") writes of a run of
// torch.distributed.pipelining. The schedules there that run a list of actions, such as
// ScheduleInterleaved1F1B, mark each action on the host, as `PP:2F0`. A mark is no cost by itself:
// it begins with the wait for the task's message, and where a GPU works, it ends when the work is
// launched. So marks only say what work is whose:
//
//   on the host  a task lasts from the first operator within its mark, on the mark's thread, to the
//                end of the mark;
//   on a GPU     from the start of the first kernel (or copy) that was launched within its mark, by
//                any thread, to the end of the last. Kernels of NCCL do not count. The profiler
//                repeats marks for the GPU, which are not used: they lack what the threads of
//                autograd launch, which is all of a backward.
//
// A task within whose mark nothing ran takes no time, as I of the first stage does.
//
// Steps are the marks `ProfilerStep#3` of a profiler with a schedule. Without them, a task that has
// run in this step already begins the next one.
//
// A file may be large: of its events, a few words each are kept, and only while it is read. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/task.h"

namespace ripeline::trace {

struct TorchTask {
  std::string op;  // F, B (the whole backward), I or W
  int stage = 0;
  int microbatch = 0;
  std::int64_t step = 0;  // counted from 0, or the number in its mark
  core::Time start{0};
  core::Time end{0};
  bool operator==(const TorchTask&) const = default;
};

struct TorchTrace {
  int rank = 0;
  int ranks = 0;                        // in the run; 0: the file does not say
  bool on_gpu = false;                  // whether times are those of kernels
  bool marks_steps = false;             // whether steps have numbers that other ranks' files share
  std::vector<TorchTask> tasks = {};    // in the order of their marks
  std::vector<std::string> notes = {};  // for people: what gives no costs
};

// Fails by status with the file, what is wrong with it, and what to record instead.
core::Status read_torch_trace(const std::string& path, TorchTrace& trace);

}  // namespace ripeline::trace
