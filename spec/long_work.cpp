#include "spec/long_work.h"

namespace ripeline::spec {
namespace {

thread_local const LongWork* innermost = nullptr;

}  // namespace

LongWork::LongWork(std::stop_token stop, Hears hears)
    : stop_(std::move(stop)), hears_(std::move(hears)), outer_(innermost) {
  innermost = this;
}

LongWork::~LongWork() { innermost = outer_; }

void stop_point() {
  if (innermost != nullptr && innermost->stop().stop_requested()) throw Stopped();
}

std::stop_token stop_of_work() {
  return innermost == nullptr ? std::stop_token() : innermost->stop();
}

void part_begins(const std::string& part) {
  stop_point();
  if (innermost != nullptr) innermost->begins(part);
}

}  // namespace ripeline::spec
