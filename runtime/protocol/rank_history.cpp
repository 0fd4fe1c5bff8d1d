#include "runtime/protocol/rank_history.h"

#include <algorithm>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "runtime/duration.h"

namespace ripeline::runtime::protocol {

using core::Time;

namespace {

constexpr std::size_t kLastEvents = 4;  // enough to show what a rank was doing

}  // namespace

void RankHistory::note(const char* what, core::Task task, Time when) {
  if (last_.size() == kLastEvents) last_.pop_front();
  last_.push_back({what, task, when});
}

void RankHistory::arrived(const signals::Data& data, Time sent, Time came) {
  const core::Message message = data.message;
  note("got", {facts_.edges[index(message.edge)].producer, message.microbatch}, came);
  if (trace_ != nullptr) trace_->message(data.step, message, sent, came);
  if (observer_ != nullptr) observer_->arrived(data, sent, came);
}

void RankHistory::started(core::Task task, Time now) {
  started_.push_back(task);
  note("started", task, now);
  if (observer_ != nullptr) observer_->started(task, now);
}

void RankHistory::ended(std::int64_t step, core::Task task, Time chosen, Time begin, Time end) {
  note("ended", task, end);
  if (trace_ != nullptr) trace_->task(step, task, begin, end, begin - chosen);
  if (observer_ != nullptr) observer_->finished(task, end);
}

void RankHistory::polled(Time now, const core::Executor& executor,
                         std::span<const core::Command> commands) {
  if (observer_ != nullptr) observer_->polled(now, executor, commands);
}

void RankHistory::sent(Time now, std::span<const core::Command> commands) {
  if (observer_ != nullptr) observer_->sent(now, commands);
}

std::string RankHistory::last_events(Time now) const {
  std::string text;
  for (auto event = last_.rbegin(); event != last_.rend(); ++event) {
    text += (text.empty() ? "" : ", ") +
            (std::string(event->what) + " " + core::task_name(facts_, event->task)) + " " +
            seconds_text(std::max(Time{0}, now - event->at)) + " ago";
  }
  return text;
}

}  // namespace ripeline::runtime::protocol
