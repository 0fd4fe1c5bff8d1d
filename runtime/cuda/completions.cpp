#include "runtime/cuda/completions.h"

#include <utility>

namespace ripeline::runtime::cuda {

using core::Status;

Status Completions::note(cudaStream_t stream, std::uint64_t number) {
  Noted noted{.event = {}, .number = number};
  if (spare_.empty()) {
    if (Status s = Event::make(noted.event, Event::Time::none); !s.ok()) return s;
  } else {
    noted.event = std::move(spare_.back());
    spare_.pop_back();
  }
  if (Status s = noted.event.record(stream); !s.ok()) return s;
  noted_[stream].push_back(std::move(noted));
  ++pending_;
  return {};
}

Status Completions::progress(std::vector<std::uint64_t>& over) {
  for (auto& [stream, noted] : noted_) {
    while (!noted.empty()) {
      bool reached = false;
      if (Status s = noted.front().event.query(reached); !s.ok()) return s;
      if (!reached) break;
      over.push_back(noted.front().number);
      spare_.push_back(std::move(noted.front().event));
      noted.pop_front();
      --pending_;
    }
  }
  return {};
}

}  // namespace ripeline::runtime::cuda
