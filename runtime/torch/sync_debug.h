// LibTorch's sync debug mode, for the tasks of a run: any LibTorch call that makes its thread wait
// for the GPU, such as `.item()` or a copy to memory that is not pinned, is then an error that
// names the task.
//
// Such a call is correct but slow, so the mode is on only if RIPELINE_SYNC_DEBUG=error is in the
// environment, and from the third pass on, when all one-time work is over. The mode does not apply
// to the runtime's own waits, neither between steps nor in a task.
//
// LibTorch has one mode per process, so use this with one rank in each process. Any thread.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace ripeline::runtime {

// Reads from the environment whether this process uses the mode from now on. Call it once when
// LibTorch's part for GPUs is loaded, and while no task runs. Refuses any value but `error`, and a
// LibTorch without such a mode.
core::Status read_sync_debug();

// Marks a task of this pass, in the thread that runs the task.
class SyncDebuggedTask {
 public:
  explicit SyncDebuggedTask(std::int64_t pass);
  ~SyncDebuggedTask();
  SyncDebuggedTask(const SyncDebuggedTask&) = delete;
  SyncDebuggedTask& operator=(const SyncDebuggedTask&) = delete;

 private:
  const bool counts_;
};

// Allows a wait of the runtime itself in a task.
class AllowedSync {
 public:
  AllowedSync();
  ~AllowedSync();
  AllowedSync(const AllowedSync&) = delete;
  AllowedSync& operator=(const AllowedSync&) = delete;
};

}  // namespace ripeline::runtime
