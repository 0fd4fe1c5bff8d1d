#include "runtime/torch/sync_debug.h"

#if defined(RIPELINE_CUDA) && __has_include(<c10/cuda/CUDAFunctions.h>)
#define RIPELINE_HAS_SYNC_DEBUG
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>
#endif

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

namespace ripeline::runtime {

using core::Status;
using core::StatusCode;

namespace {

constexpr std::int64_t kFirstPass = 2;

#ifdef RIPELINE_HAS_SYNC_DEBUG

// LibTorch's own warning state. This library is not linked with LibTorch's part for GPUs, so the
// inline function that returns the state would make a second state here.
c10::cuda::WarningState* find_mode() {
  return static_cast<c10::cuda::WarningState*>(
      dlsym(RTLD_DEFAULT, "_ZZN3c104cuda13warning_stateEvE14warning_state_"));
}

void set(c10::cuda::WarningState& mode, bool is_error) {
  using c10::cuda::SyncDebugMode;
  mode.set_sync_debug_mode(is_error ? SyncDebugMode::L_ERROR : SyncDebugMode::L_DISABLED);
}

using Mode = c10::cuda::WarningState;

#else

struct Mode {};
Mode* find_mode() { return nullptr; }
void set(Mode& /*mode*/, bool /*is_error*/) {}

#endif

// These variables exist once in the process, as LibTorch's mode does.
std::atomic<Mode*> mode{nullptr};  // null if the mode is not used
std::mutex mutex;
int tasks = 0;          // guarded by the mutex: running tasks to which the mode applies
int allowed_waits = 0;  // guarded by the mutex: the runtime's own waits

void change(int& count, int by) {
  Mode* const used = mode.load();
  if (used == nullptr) return;
  const std::lock_guard lock(mutex);
  count += by;
  set(*used, tasks > 0 && allowed_waits == 0);
}

}  // namespace

Status read_sync_debug() {
  const char* const value = std::getenv("RIPELINE_SYNC_DEBUG");
  mode = nullptr;
  if (value == nullptr || *value == '\0') return {};
  if (value != std::string("error")) {
    return {StatusCode::refused,
            "RIPELINE_SYNC_DEBUG is '" + std::string(value) + "'; it may be error"};
  }
  mode = find_mode();
  if (mode.load() != nullptr) return {};
  return {StatusCode::refused, "RIPELINE_SYNC_DEBUG is set, and this LibTorch has no such mode"};
}

SyncDebuggedTask::SyncDebuggedTask(std::int64_t pass) : counts_(pass >= kFirstPass) {
  if (counts_) change(tasks, 1);
}
SyncDebuggedTask::~SyncDebuggedTask() {
  if (counts_) change(tasks, -1);
}

AllowedSync::AllowedSync() { change(allowed_waits, 1); }
AllowedSync::~AllowedSync() { change(allowed_waits, -1); }

}  // namespace ripeline::runtime
