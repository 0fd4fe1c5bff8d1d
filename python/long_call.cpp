#include "python/long_call.h"

#include <condition_variable>
#include <exception>
#include <stop_token>
#include <thread>

#include "spec/long_work.h"

namespace ripeline::python {

void LongCall::begins(const std::string& part) {
  const std::lock_guard lock(mutex_);
  progress_.part = part;
}

void LongCall::found(std::optional<double> best, std::optional<double> bound) {
  const std::lock_guard lock(mutex_);
  progress_.best = best;
  progress_.bound = bound;
}

Progress LongCall::progress() const {
  const std::lock_guard lock(mutex_);
  Progress now = progress_;
  now.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  return now;
}

void run_long(const std::function<void(LongCall&)>& work,
              const std::function<void(const LongCall&)>& look) {
  LongCall call;
  std::exception_ptr thrown;
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  // If `look` throws, the destructor stops the work and waits for its thread.
  std::jthread thread([&](const std::stop_token& stop) {
    try {
      const spec::LongWork here(stop, [&call](const std::string& part) { call.begins(part); });
      work(call);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    has_ended = true;
    ended.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kSlice, [&] { return has_ended; })) {
    lock.unlock();
    look(call);
    lock.lock();
  }
  lock.unlock();
  thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace ripeline::python
