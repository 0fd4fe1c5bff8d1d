// LongWork: work of a thread that another thread can stop, and that says which part it is at.
//
//   std::stop_source stop;  // another thread calls stop.request_stop()
//   try {
//     const LongWork work(stop.get_token());
//     verdict = verify::verify(program);
//   } catch (const Stopped&) {
//     // There is no verdict.
//   }
//
// While a LongWork exists, it is the work of its thread; of nested ones, the innermost. Code that
// may take long passes stop_point() every few milliseconds. Work that is stopped has no result:
// Stopped is thrown through all that was at work, and since it is no std::exception, no handler of
// errors takes it for one. (A search that `go_on` ends is another thing: it returns its best.)
// Without a LongWork these functions do nothing. Each function may be called in any thread, and
// concerns the work of the calling thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <utility>

namespace ripeline::spec {

struct Stopped {};

class LongWork {
 public:
  // Called in the work's thread with the name of each part that begins; must not throw.
  using Hears = std::function<void(const std::string& part)>;

  explicit LongWork(std::stop_token stop, Hears hears = {});
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;
  ~LongWork();

  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  void begins(const std::string& part) const {
    if (hears_) hears_(part);
  }

  // The thread's work; null if it has none.
  [[nodiscard]] static const LongWork* of_thread() { return innermost_; }

 private:
  static inline constinit thread_local const LongWork* innermost_ = nullptr;

  std::stop_token stop_;
  Hears hears_;
  const LongWork* outer_;
};

// Throws Stopped if the work is to stop. Inline, since it stands in the innermost loops.
inline void stop_point() {
  const LongWork* const work = LongWork::of_thread();
  if (work != nullptr && work->stop().stop_requested()) throw Stopped();
}
// The request to stop the work, for code that waits for another thread or a library; without a
// LongWork it is never made.
[[nodiscard]] std::stop_token stop_of_work();
// Says that a part of the work begins, such as `deadlock`. It is a stop point, too.
void part_begins(const std::string& part);
// Does this part of the work and returns what `work` returns. Parts within it are not heard of.
template <class Work>
decltype(auto) in_part(const std::string& part, const Work& work) {
  part_begins(part);
  const LongWork quiet(stop_of_work());
  return work();
}

}  // namespace ripeline::spec
