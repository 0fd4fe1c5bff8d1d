// LibTorch's sync debug mode, for the tasks of a run: a call of LibTorch that makes its thread wait
// for the GPU, as `.item()` does, or a copy to memory that is not pinned, is an error which names
// the task.
//
// Such a call is correct, and slower, so the mode is on only where RIPELINE_SYNC_DEBUG=error is in
// the environment, and from the third pass on, when all that is done once has been done. What the
// runtime waits for between steps is outside of it, and so is what it must wait for in a task.
//
// LibTorch has one mode for the process: use it with one rank in each. Any thread.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace ripeline::runtime {

// Once LibTorch's half for GPUs is loaded, and while no task runs: whether the mode is to be used
// from now on in this process. Refused: another text than `error`, or a LibTorch that has no such
// mode.
core::Status read_sync_debug();

// A task of this pass, in the thread that runs it.
class SyncDebuggedTask {
 public:
  explicit SyncDebuggedTask(std::int64_t pass);
  ~SyncDebuggedTask();
  SyncDebuggedTask(const SyncDebuggedTask&) = delete;
  SyncDebuggedTask& operator=(const SyncDebuggedTask&) = delete;

 private:
  const bool counts_;
};

// A wait of the runtime's own in a task.
class AllowedSync {
 public:
  AllowedSync();
  ~AllowedSync();
  AllowedSync(const AllowedSync&) = delete;
  AllowedSync& operator=(const AllowedSync&) = delete;
};

}  // namespace ripeline::runtime
