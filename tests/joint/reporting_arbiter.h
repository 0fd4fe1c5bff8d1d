// ReportingArbiter: an arbiter that reports its calls as the events of spec/machine.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/arbiter.h"
#include "spec/machine.h"

namespace ripeline::joint {

class ReportingArbiter final : public core::Arbiter {
 public:
  struct Listener {
    std::function<void(std::int64_t step)> begins;
    std::function<void(std::int64_t step, const spec::Event&)> happens;
  };
  ReportingArbiter(std::unique_ptr<core::Arbiter> inner, Listener listener)
      : inner_(std::move(inner)), listener_(std::move(listener)) {}

  const core::ProgramFacts& facts() const override { return inner_->facts(); }
  int rank() const override { return inner_->rank(); }
  core::Status begin_step(std::int64_t step, int microbatches) override {
    step_ = step;
    listener_.begins(step);
    return inner_->begin_step(step, microbatches);
  }
  void on_finished(core::Task task, core::Time now) override {
    happens(spec::Event::Do::end, task);
    inner_->on_finished(task, now);
  }
  void on_arrived(core::Message message, core::Time now) override {
    // For the machine, a rendezvous message arrives only when it is taken.
    if (!facts().edges[static_cast<std::size_t>(message.edge)].rendezvous) arrives(message);
    inner_->on_arrived(message, now);
  }
  void on_taken(core::Message message, core::Time now) override {
    arrives(message);
    inner_->on_taken(message, now);
  }
  void ready(core::Engine engine, core::TaskSet& out) const override { inner_->ready(engine, out); }
  core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                      core::Time now) const override {
    return inner_->choose(engine, allowed, now);
  }
  core::Task next_in_order(core::Engine engine) const override {
    return inner_->next_in_order(engine);
  }
  void expect(const core::Costs& costs) override { inner_->expect(costs); }
  void on_notice(const core::Notice& notice, core::Time now) override {
    inner_->on_notice(notice, now);
  }
  void take_notices(core::Time now, std::vector<core::Notice>& out) override {
    inner_->take_notices(now, out);
  }
  void started(core::Task task, core::Time now) override {
    happens(spec::Event::Do::start, task);
    inner_->started(task, now);
  }

 private:
  void happens(spec::Event::Do what, core::Task task) {
    listener_.happens(step_, {.what = what, .lane = task.lane, .microbatch = task.microbatch});
  }
  void arrives(core::Message m) {
    listener_.happens(step_, {.what = spec::Event::Do::arrive,
                              .lane = facts().edges[static_cast<std::size_t>(m.edge)].consumer,
                              .microbatch = m.microbatch,
                              .edge = m.edge});
  }

  std::unique_ptr<core::Arbiter> inner_;
  Listener listener_;
  std::int64_t step_ = -1;
};

}  // namespace ripeline::joint
