#include "runtime/run_trace.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kManyEvents = 1 << 14;  // two or three megabytes as text

// Sets `number`, on all ranks, to the random number that rank 0 has drawn.
Status agree(Run& run, std::uint64_t& number) {
  std::random_device random;
  number = std::uint64_t{random()} << 32 | random();
  Blob mine(sizeof number);
  std::memcpy(mine.data(), &number, sizeof number);
  std::vector<Blob> all;
  if (Status s = run.gather("the trace", std::move(mine), all); !s.ok()) return s;
  if (all.front().size() != sizeof number) {
    return {StatusCode::invalid, "rank 0 sent a malformed number for the run"};
  }
  std::memcpy(&number, all.front().data(), sizeof number);
  return {};
}

}  // namespace

RunTrace::~RunTrace() {
  if (part_) static_cast<void>(append().ok());
}

Status RunTrace::open(const core::ProgramFacts& facts, const trace::RunInfo& about, Run& run) {
  const std::string folder = trace::parts_folder(path_);
  // All ranks remove the old parts before agree() and make the new folder after it, so that no rank
  // removes the new folder.
  trace::remove_parts(folder);
  const core::Coordinates self = run.layout().at(run.self());
  trace::Part part{.rank = self.rank, .run = 0};
  if (Status s = agree(run, part.run); !s.ok()) return s;
  if (self.member > 0 || self.replica > 0) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return {StatusCode::failed, folder + ": cannot be made: " + error.message()};
  run_ = &run;
  about_.emplace(facts, about);
  about_->part = part;
  part_.emplace(folder, *about_);
  next_ = RankClock::host() + pause_;
  return part_->failure();
}

Status RunTrace::step_ended() {
  if (!part_) return {};
  const std::size_t events = record_.tasks.size() + record_.messages.size() + record_.idle.size();
  if (events < kManyEvents && RankClock::host() < next_) return {};
  const bool is_told = !part_->failure().ok();
  Status status = append();
  return is_told ? Status() : std::move(status);
}

Status RunTrace::begin_step(const core::ProgramFacts& facts, int microbatches, Run& run) {
  if (!std::exchange(has_begun_, true)) {
    trace::RunInfo about = info_;
    about.microbatches = microbatches;
    return open(facts, about, run);
  }
  if (about_ && microbatches > about_->run.microbatches) {
    return {StatusCode::invalid,
            path_ + ": a step has " + std::to_string(microbatches) +
                " microbatches, and the first one had " + std::to_string(about_->run.microbatches) +
                ": while a trace is written, no step may have more than the first"};
  }
  if (const Status lost = step_ended(); !lost.ok()) {
    std::fprintf(stderr, "ripeline: %s: %s; the run goes on without its trace\n",
                 run.layout().name(run.self()).c_str(), lost.message().c_str());
  }
  return {};
}

Status RunTrace::close() {
  if (!part_) return {};
  Status status = append();
  part_.reset();
  return status;
}

// The offset that turns times of the record into times on process 0's clock.
core::Time RunTrace::to_run_clock() {
  core::Time first = core::Time::max();
  core::Time last = written_;
  const auto look = [&](core::Time from, core::Time to) {
    first = std::min(first, from);
    last = std::max(last, to);
  };
  for (const trace::TaskEvent& e : record_.tasks) look(e.chosen(), e.end);
  for (const trace::MessageEvent& e : record_.messages) look(e.arrived, e.arrived);
  core::Time add = -run_->ahead();
  if (written_ != core::Time::min() && add < added_) {
    const core::Time pause = std::max(core::Time{0}, first - written_);
    add = std::max(add, added_ - pause);
  }
  written_ = last;
  return added_ = add;
}

Status RunTrace::append() {
  if (!record_.tasks.empty() || !record_.messages.empty()) record_.move(to_run_clock());
  Status status = part_->append(record_);
  record_.clear();
  next_ = RankClock::host() + pause_;
  return status;
}

}  // namespace ripeline::runtime
