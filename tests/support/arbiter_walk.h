// Two arbiters of one rank through the same random events: they must offer and choose the same in
// every state.
//
// The events are one rank's: any message may arrive at any time, whatever its sender could have
// done, so that more states are met than in a run of the whole pipeline. Half of the starts follow
// the choice, half take any ready task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "core/print.h"

namespace ripeline::testing_support {

class ArbiterWalk {
 public:
  ArbiterWalk(core::Arbiter& left, core::Arbiter& right, std::uint64_t seed)
      : left_(left), right_(right), random_(seed) {}

  // One step with `microbatches`; returns what differed first and after which events, or nothing.
  std::string run(int microbatches) {
    const core::Status a = left_.begin_step(step_, microbatches);
    const core::Status b = right_.begin_step(step_, microbatches);
    ++step_;
    if (a.code() != b.code()) return "begin_step: " + a.message() + " / " + b.message();
    if (!a.ok()) return "";
    start(microbatches);
    while (differences_.empty() && next()) compare();
    return differences_;
  }
  [[nodiscard]] std::int64_t states() const { return states_; }

 private:
  void start(int microbatches) {
    const core::ProgramFacts& facts = left_.facts();
    microbatches_ = microbatches;
    messages_.clear();
    running_ = {};
    events_.clear();
    for (core::EdgeId edge = 0; edge < static_cast<core::EdgeId>(facts.edges.size()); ++edge) {
      const core::LaneId consumer = facts.edges[static_cast<std::size_t>(edge)].consumer;
      const int rank = facts.lanes[static_cast<std::size_t>(consumer)].rank;
      if (rank != left_.rank() || !facts.crosses_ranks(edge)) continue;
      for (int m = 0; m < microbatches; ++m) messages_.push_back({edge, m});
    }
    // Mostly in order, as messages come, with some that overtake.
    std::stable_sort(messages_.begin(), messages_.end(),
                     [](core::Message x, core::Message y) { return x.microbatch > y.microbatch; });
    compare();
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  // Does one event that may happen; false if there is none.
  bool next() {
    ready_.clear();
    const core::ProgramFacts& facts = left_.facts();
    for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(facts.lanes.size()); ++lane) {
      if (facts.lanes[static_cast<std::size_t>(lane)].rank != left_.rank()) continue;
      for (int m = 0; m < microbatches_; ++m) {
        if (set_.contains({lane, m})) ready_.push_back({lane, m});
      }
    }
    const bool runs = running_.lane >= 0;
    const std::size_t kinds = (runs || !ready_.empty() ? 1U : 0U) + (messages_.empty() ? 0U : 1U);
    if (kinds == 0) return false;
    if (!messages_.empty() && below(kinds) == 0) {
      arrive();
    } else if (runs) {
      end();
    } else {
      begin();
    }
    return true;
  }

  void arrive() {
    const std::size_t window = std::min<std::size_t>(messages_.size(), 6);
    const auto at = messages_.end() - static_cast<std::ptrdiff_t>(below(window)) - 1;
    const core::Message message = *at;
    messages_.erase(at);
    events_ += " arrive " + std::to_string(message.edge) + "/" + std::to_string(message.microbatch);
    left_.on_arrived(message, {});
    right_.on_arrived(message, {});
  }

  void end() {
    events_ += " end " + core::task_name(left_.facts(), running_);
    left_.on_finished(running_, {});
    right_.on_finished(running_, {});
    running_ = {};
  }

  void begin() {
    const core::Choice choice = left_.choose(core::Engine::compute, nullptr, {});
    running_ = choice.starts() && below(2) == 0 ? choice.task : ready_[below(ready_.size())];
    events_ += " start " + core::task_name(left_.facts(), running_);
    left_.started(running_, {});
    right_.started(running_, {});
  }

  void compare() {
    ++states_;
    left_.ready(core::Engine::compute, set_);
    right_.ready(core::Engine::compute, other_);
    if (!(set_ == other_)) differ("ready(): " + text(set_) + "/" + text(other_));
    compare_choice("choose()", nullptr);
    core::TaskSet allowed = set_;
    for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(left_.facts().lanes.size());
         ++lane) {
      if (left_.facts().lanes[static_cast<std::size_t>(lane)].rank != left_.rank()) continue;
      for (int m = 0; m < microbatches_; ++m) {
        if (below(2) == 0) {
          allowed.remove({lane, m});
        } else if (below(8) == 0) {
          allowed.add({lane, m});  // may lie outside what is ready
        }
      }
    }
    compare_choice("choose(allowed)", &allowed);
  }

  void compare_choice(const std::string& what, const core::TaskSet* allowed) {
    const core::Choice a = left_.choose(core::Engine::compute, allowed, {});
    const core::Choice b = right_.choose(core::Engine::compute, allowed, {});
    if (!(a == b)) differ(what + ": " + text(a) + " / " + text(b));
    if (!(a == left_.choose(core::Engine::compute, allowed, {}))) differ(what + " changes");
    if (a.starts() && !set_.contains(a.task)) differ(what + " is not ready: " + text(a));
  }

  void differ(const std::string& what) {
    if (!differences_.empty()) return;
    differences_ = "rank " + std::to_string(left_.rank()) + ", " + std::to_string(microbatches_) +
                   " microbatches, after" + (events_.empty() ? " nothing" : events_) + "\n  " +
                   what;
  }

  [[nodiscard]] std::string text(const core::Choice& choice) const {
    return choice.starts() ? core::task_name(left_.facts(), choice.task) : "nothing";
  }
  [[nodiscard]] std::string text(const core::TaskSet& set) const {
    std::string out;
    const core::ProgramFacts& facts = left_.facts();
    for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(facts.lanes.size()); ++lane) {
      if (facts.lanes[static_cast<std::size_t>(lane)].rank != left_.rank()) continue;
      for (int m = 0; m < microbatches_; ++m) {
        if (set.contains({lane, m})) out += core::task_name(facts, {lane, m}) + " ";
      }
    }
    return out;
  }

  core::Arbiter& left_;
  core::Arbiter& right_;
  std::mt19937_64 random_;
  std::int64_t step_ = 0;
  int microbatches_ = 0;
  std::vector<core::Message> messages_;  // yet to come, the next last
  core::Task running_;
  core::TaskSet set_;
  core::TaskSet other_;
  std::vector<core::Task> ready_;
  std::string events_;
  std::string differences_;
  std::int64_t states_ = 0;
};

}  // namespace ripeline::testing_support
