// TorchTrace: the times of tasks on one rank, from PyTorch's profiler.
//
// The file is the one that export_chrome_trace() of torch.profiler ("Kineto") writes for a run of
// torch.distributed.pipelining. Schedules that run a list of actions, such as
// ScheduleInterleaved1F1B, mark each action on the host, as `PP:2F0`. The length of a mark is not a
// cost: a mark begins with the wait for the task's message and, if a GPU works, ends when the work
// is launched. So marks only tell which work belongs to which task:
//
//   on the host  a task lasts from the first operator within its mark, on the mark's thread, to the
//                end of the mark;
//   on a GPU     a task lasts from the start of the first kernel (or copy) that any thread launched
//                within its mark, to the end of the last. Kernels of NCCL do not count. The copies
//                of marks that the profiler makes for the GPU are not used: they leave out all
//                kernels that autograd's threads launch, and so every backward.
//
// A task takes no time if nothing ran within its mark, as is the case for I of the first stage.
//
// A mark such as `ProfilerStep#3`, which a profiler with a schedule makes, is a step. Without such
// marks, a new step begins with each task that has already run in the present step.
//
// Files may be large, so the reader stores only a few words of each event. Plain values.
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
  int ranks = 0;                        // in the run; 0 if not in the file
  bool on_gpu = false;                  // whether the times are times of kernels
  bool marks_steps = false;             // whether steps have the same numbers in other ranks' files
  std::vector<TorchTask> tasks = {};    // in the order of their marks
  std::vector<std::string> notes = {};  // for people: marks without costs, and the reasons
};

// A failure names the file, and tells what is wrong with it and what to record instead.
core::StatusOr<TorchTrace> read_torch_trace(const std::string& path);

}  // namespace ripeline::trace
