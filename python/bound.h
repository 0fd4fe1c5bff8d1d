// Python's lock and long calls, for the files of the extension module.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/failure.h"
#include "python/long_call.h"

namespace ripeline::python {

namespace nb = nanobind;

// Releases Python's lock for its lifetime.
//
// While the interpreter ends, Python ends a daemon thread that takes the lock, which would end the
// whole process, since C++ is on the thread's stack. So such a thread never takes it again: its
// long call is stopped, and then it sleeps until the process has ended.
class WithoutLock {
 public:
  WithoutLock() {
    if (depth_++ == 0) ++threads_;
    released_.emplace();
  }
  ~WithoutLock() {
    // A call that a callback of another call makes returns to it, and that one sleeps.
    if (depth_ == 1 && must_end()) sleep();
    released_.reset();
    if (--depth_ == 0) --threads_;
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

  // Whether the interpreter ends, and this is not the thread that ends it.
  [[nodiscard]] static bool must_end() {
    return ending_ && std::this_thread::get_id() != ending_thread_;
  }

  // Waits until all threads that are without the lock sleep or have returned to Python. Python
  // calls it once, with its lock, before it ends.
  static void end() {
    ending_thread_ = std::this_thread::get_id();
    ending_ = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    {
      const nb::gil_scoped_release released;
      while (threads_ > asleep_ && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    // Threads that sleep keep what they use.
    if (threads_ > 0) nb::set_leak_warnings(false);
  }

  // In the child of a fork, there is no thread but the caller's.
  static void forget_other_threads() {
    const int own = depth_ > 0 ? 1 : 0;
    if (threads_ > own) nb::set_leak_warnings(false);  // their objects stay
    threads_ = own;
    asleep_ = 0;
  }

 private:
  [[noreturn]] static void sleep() {
    ++asleep_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  static inline std::atomic<bool> ending_ = false;
  static inline std::thread::id ending_thread_;  // set before ending_
  static inline std::atomic<int> threads_ = 0;   // those that have a WithoutLock
  static inline std::atomic<int> asleep_ = 0;
  static inline thread_local int depth_ = 0;  // how many this thread has

  std::optional<nb::gil_scoped_release> released_;
};

// Runs `work(LongCall&)` as a long call (python/long_call.h), without Python's lock, and returns
// what it returns. Meanwhile Ctrl-C raises KeyboardInterrupt, and `progress`, unless it is None, is
// called with what it was told: seconds, part, best, bound. Whatever these raise ends the work.
template <class Work>
auto long_call(const nb::object& progress, const Work& work) {
  std::optional<decltype(work(std::declval<LongCall&>()))> result;
  const auto look = [&](const LongCall& running) {
    if (WithoutLock::must_end()) throw Failure({spec::failure("Python ends")});
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (progress.is_none()) return;
    const Progress now = running.progress();
    progress(now.seconds, now.part, now.best, now.bound);
  };
  const WithoutLock unlocked;
  run_long([&](LongCall& running) { result.emplace(work(running)); }, look);
  return std::move(*result);
}

}  // namespace ripeline::python
