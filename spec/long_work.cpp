#include "spec/long_work.h"

namespace ripeline::spec {

LongWork::LongWork(std::stop_token stop, Hears hears)
    : stop_(std::move(stop)), hears_(std::move(hears)), outer_(innermost_) {
  innermost_ = this;
}

LongWork::~LongWork() { innermost_ = outer_; }

std::stop_token stop_of_work() {
  const LongWork* const work = LongWork::of_thread();
  return work == nullptr ? std::stop_token() : work->stop();
}

void part_begins(const std::string& part) {
  stop_point();
  if (const LongWork* const work = LongWork::of_thread(); work != nullptr) work->begins(part);
}

}  // namespace ripeline::spec
