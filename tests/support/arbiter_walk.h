// Applies the same random events to two arbiters of one rank; in every state both must offer the
// same tasks and choose the same one.
//
// All events are events of this one rank. Any message may arrive at any time, even if its sender
// could not have sent it yet, so that more states occur than in a run of the whole pipeline. Half
// of the starts follow the arbiter's choice, half take any ready task. All engines take part.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "core/print.h"

namespace ripeline::testing_support {

class ArbiterWalk {
 public:
  ArbiterWalk(core::Arbiter& left, core::Arbiter& right, std::uint64_t seed)
      : left_(left), right_(right), random_(seed) {}

  // Runs one step; returns the first difference and the events before it, or an empty text.
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
    handed_.clear();
    running_ = {};
    events_.clear();
    const core::LaneId lanes = static_cast<core::LaneId>(facts.lanes.size());
    engines_.clear();
    for (core::LaneId lane = 0; lane < lanes; ++lane) {
      if (is_ours(lane)) engines_.insert(engine_of(lane));
    }
    for (core::EdgeId edge = 0; edge < static_cast<core::EdgeId>(facts.edges.size()); ++edge) {
      const core::EdgeFacts& e = facts.edges[static_cast<std::size_t>(edge)];
      if (!is_ours(e.consumer) || !facts.crosses_ranks(edge)) continue;
      for (int m = 0; m < facts.tasks_of(e.producer, microbatches); ++m) {
        if (facts.needed_by(edge, m, microbatches) >= 0) messages_.push_back({edge, m});
      }
    }
    // The messages arrive mostly in order, but some overtake earlier ones.
    std::stable_sort(messages_.begin(), messages_.end(),
                     [](core::Message x, core::Message y) { return x.microbatch > y.microbatch; });
    compare();
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  [[nodiscard]] bool is_ours(core::LaneId lane) const {
    return left_.facts().lanes[static_cast<std::size_t>(lane)].rank == left_.rank();
  }
  [[nodiscard]] core::Engine engine_of(core::LaneId lane) const {
    return left_.facts().lanes[static_cast<std::size_t>(lane)].engine;
  }
  core::Task& running(core::Engine engine) { return running_[static_cast<std::size_t>(engine)]; }

  [[nodiscard]] std::vector<core::Task> ready(core::Engine engine) {
    std::vector<core::Task> tasks;
    left_.ready(engine, set_);
    const core::ProgramFacts& facts = left_.facts();
    for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(facts.lanes.size()); ++lane) {
      if (!is_ours(lane)) continue;
      for (int m = 0; m < microbatches_; ++m) {
        if (set_.contains({lane, m})) tasks.push_back({lane, m});
      }
    }
    return tasks;
  }

  // Applies one event that may happen now; returns false if there is none.
  bool next() {
    std::vector<core::Engine> active;  // engines that run a task or may start one
    for (const core::Engine engine : engines_) {
      if (running(engine).lane >= 0 || !ready(engine).empty()) active.push_back(engine);
    }
    const std::size_t others = (messages_.empty() ? 0U : 1U) + (handed_.empty() ? 0U : 1U);
    if (active.size() + others == 0) return false;
    const std::size_t which = below(active.size() + others);
    if (which < active.size()) {
      const core::Engine engine = active[which];
      running(engine).lane >= 0 ? end(engine) : begin(engine);
    } else if (which == active.size() && !messages_.empty()) {
      arrive();
    } else {
      take();
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

  void end(core::Engine engine) {
    const core::Task task = running(engine);
    const core::ProgramFacts& facts = left_.facts();
    events_ += " end " + core::task_name(facts, task);
    left_.on_finished(task, {});
    right_.on_finished(task, {});
    running(engine) = {};
    for (core::EdgeId edge = 0; edge < static_cast<core::EdgeId>(facts.edges.size()); ++edge) {
      const core::EdgeFacts& e = facts.edges[static_cast<std::size_t>(edge)];
      if (e.producer != task.lane || !e.rendezvous || !facts.crosses_ranks(edge)) continue;
      if (facts.needed_by(edge, task.microbatch, microbatches_) < 0) continue;
      handed_.push_back({edge, task.microbatch});
    }
  }

  void begin(core::Engine engine) {
    const std::vector<core::Task> tasks = ready(engine);
    const core::Choice choice = left_.choose(engine, nullptr, {});
    const core::Task task =
        choice.starts() && below(2) == 0 ? choice.task : tasks[below(tasks.size())];
    running(engine) = task;
    events_ += " start " + core::task_name(left_.facts(), task);
    left_.started(task, {});
    right_.started(task, {});
  }

  // Lets the receiver take a rendezvous message that this rank has sent.
  void take() {
    const std::size_t at = below(handed_.size());
    const core::Message message = handed_[at];
    handed_.erase(handed_.begin() + static_cast<std::ptrdiff_t>(at));
    events_ += " taken " + std::to_string(message.edge) + "/" + std::to_string(message.microbatch);
    left_.on_taken(message, {});
    right_.on_taken(message, {});
  }

  void compare() {
    ++states_;
    for (const core::Engine engine : engines_) compare(engine);
  }

  void compare(core::Engine engine) {
    left_.ready(engine, set_);
    right_.ready(engine, other_);
    if (!(set_ == other_)) differ("ready(): " + text(set_) + "/" + text(other_));
    compare_choice("choose()", engine, nullptr);
    core::TaskSet allowed = set_;
    for (core::LaneId lane = 0; lane < static_cast<core::LaneId>(left_.facts().lanes.size());
         ++lane) {
      if (!is_ours(lane)) continue;
      for (int m = 0; m < microbatches_; ++m) {
        if (below(2) == 0) {
          allowed.remove({lane, m});
        } else if (below(8) == 0) {
          allowed.add({lane, m});  // may not be ready
        }
      }
    }
    compare_choice("choose(allowed)", engine, &allowed);
    const auto& edges = left_.facts().edges;
    const bool asked = std::any_of(edges.begin(), edges.end(),
                                   [](const core::EdgeFacts& e) { return e.rendezvous; });
    if (asked && !(left_.next_in_order(engine) == right_.next_in_order(engine))) {
      differ("next_in_order()");
    }
  }

  void compare_choice(const std::string& what, core::Engine engine, const core::TaskSet* allowed) {
    const core::Choice a = left_.choose(engine, allowed, {});
    const core::Choice b = right_.choose(engine, allowed, {});
    if (!(a == b)) differ(what + ": " + text(a) + " / " + text(b));
    if (!(a == left_.choose(engine, allowed, {}))) differ(what + " changes");
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
  std::vector<core::Message> messages_;             // not arrived yet; the last one arrives next
  std::vector<core::Message> handed_;               // sent by this rank and not yet taken
  std::array<core::Task, core::kEngines> running_;  // per engine
  std::set<core::Engine> engines_;                  // engines that the rank uses
  core::TaskSet set_;
  core::TaskSet other_;
  std::string events_;
  std::string differences_;
  std::int64_t states_ = 0;
};

}  // namespace ripeline::testing_support
