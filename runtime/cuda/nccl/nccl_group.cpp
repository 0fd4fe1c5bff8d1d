#include "runtime/cuda/nccl/nccl_group.h"

#include <string>
#include <thread>
#include <utility>

#include "runtime/watchdog/call_guard.h"
#include "runtime/watchdog/last_wait.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;

namespace {

// Between queries: short compared with a reduction between devices, long compared with a query.
constexpr std::chrono::microseconds kBetweenQuestions{30};

Status closed() { return {StatusCode::lost, "it was closed"}; }

Status of_others(const Status& status) {
  return status.ok() ? status : Status(StatusCode::lost, status.message());
}

}  // namespace

NcclGroup::NcclGroup(std::unique_ptr<NcclComm> comm) : comm_(std::move(comm)) {
  cudaGetDevice(&device_);
}

NcclGroup::~NcclGroup() {
  close();
  if (!given_up_) return;
  const watchdog::LastWait last("a reduction of NCCL that was given up");
  const CurrentDevice current(device_);
  cudaStreamSynchronize(stream_.get());
}

template <class Call>
Status NcclGroup::inside(const Call& call) {
  {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return !is_inside_; });
    if (closed_) return closed();
    is_inside_ = true;
  }
  const CurrentDevice current(device_);
  const Status status = call();
  const std::lock_guard lock(mutex_);
  is_inside_ = false;
  if (closed_) abort();
  left_.notify_all();
  return closed_ ? closed() : of_others(status);
}

Status NcclGroup::enqueue(const NcclNumbers& numbers, NcclSum sum, cudaStream_t stream) {
  return inside([&] {
    const watchdog::GuardedCall guarded("ncclAllReduce");
    return comm_->reduce(numbers.data, numbers.data, numbers.count, numbers.type, sum, stream);
  });
}

Status NcclGroup::reduce(const NcclNumbers& numbers, NcclSum sum, cudaStream_t before) {
  const CurrentDevice current(device_);
  if (Status s = prepare(); !s.ok()) return s;
  if (Status s = before_.record(before); !s.ok()) return s;
  if (Status s = before_.hold_up(stream_.get()); !s.ok()) return s;
  Status status = enqueue(numbers, sum, stream_.get());
  if (status.ok()) status = done_.record(stream_.get());
  if (status.ok()) status = wait();
  given_up_ = !status.ok();
  return status;
}

Status NcclGroup::prepare() {
  if (stream_.get() != nullptr) return {};
  if (Status s = Event::make(before_, Event::Time::none); !s.ok()) return s;
  if (Status s = Event::make(done_, Event::Time::none); !s.ok()) return s;
  return Stream::make(Stream::Priority::highest, stream_);
}

Status NcclGroup::wait() {
  for (;;) {
    bool reached = false;
    if (Status s = done_.query(reached); !s.ok()) return s;
    // NCCL's health is checked even after the event, which an aborted reduction reaches, too.
    const auto ask = [this] {
      const watchdog::GuardedCall call("ncclCommGetAsyncError");
      return comm_->health();
    };
    if (Status s = inside(ask); !s.ok()) return s;
    if (reached) return {};
    std::this_thread::sleep_for(kBetweenQuestions);
  }
}

void NcclGroup::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait_for(lock, kClose, [this] { return !is_inside_; });
  if (!is_inside_) abort();
}

void NcclGroup::abort() {
  if (std::exchange(aborted_, true)) return;
  const watchdog::LastWait last("the abort of a communicator of NCCL");
  const CurrentDevice current(device_);
  comm_->abort();
}

}  // namespace ripeline::runtime::cuda
