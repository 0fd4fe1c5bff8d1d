#include "tests/joint/simulated_process.h"

#include <algorithm>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "runtime/blob_io.h"

namespace ripeline::joint {

using core::Status;
using core::StatusCode;
using core::Time;
using runtime::Delivery;
using runtime::Ended;
using runtime::protocol::Outgoing;

namespace {

constexpr Time kFinishLimit = std::chrono::minutes(5);  // as in a training program
constexpr Time kWakeLatency = std::chrono::microseconds(20);

runtime::protocol::FaultLimits limits_of(World& world, int self) {
  runtime::protocol::FaultLimits limits = world.scenario.limits;
  world.bug.change_limits(self, limits);
  return limits;
}

runtime::Blob blob_of(const std::string& tag, int process) {
  runtime::BlobWriter bytes;
  bytes.text(tag);
  bytes.number(process);
  return bytes.take();
}

}  // namespace

SimulatedProcess::SimulatedProcess(World& world, int self)
    : world_(world),
      self_(self),
      traits_(world.scenario.traits[index(self)]),
      random_(world.scenario.seed * 64 + index(self) + 7),
      process_(self, {.ranks = world.scenario.processes}, world.scenario.neighbours[index(self)],
               limits_of(world, self)),
      signs_(index(world.scenario.processes)),
      heard_(index(world.scenario.processes)),
      goodbyes_(index(world.scenario.processes)) {
  for (const auto& witness : world.witnesses) {
    arbiters_.push_back(witness->arbiter(self));
    ranks_.push_back(std::make_unique<runtime::protocol::Rank>(
        *arbiters_.back(), core::Layout{.ranks = world.scenario.processes}, self,
        runtime::protocol::RankOptions{}));
  }
  write_script();
}

void SimulatedProcess::write_script() {
  const Scenario& scenario = world_.scenario;
  const auto gather = [this](std::string tag) {
    script_.push_back({Item::What::gather, std::move(tag)});
  };
  for (int step = 0; step < scenario.steps; ++step) {
    for (std::size_t program = 0; program < scenario.subjects.size(); ++program) {
      script_.push_back({Item::What::step, "", program, step});
      if (scenario.gathers) gather("norms/" + std::to_string(step));
    }
  }
  gather("the end of the run");
  script_.push_back({Item::What::finish});
}

Time SimulatedProcess::clock(Time time) const {
  return traits_.clock_offset + time + Time(time.count() / 1'000'000 * traits_.clock_drift);
}

void SimulatedProcess::after(Time delay, std::function<void()> action) {
  world_.timeline.after(delay, [this, action = std::move(action)]() mutable {
    if (is_ != Is::alive) return;
    if (stopped_) {
      when_resumed_.push_back(std::move(action));
    } else {
      action();
    }
  });
}

void SimulatedProcess::begin() {
  read_signs();
  after(world_.scenario.pauses.draw(random_), [this] {
    begin_item();
    turn();
  });
}

// ---------------------------------------------------------------- the loop of a run

void SimulatedProcess::turn() {
  while (is_ == Is::alive) {
    take_ends();
    poll();
    if (traits_.engine == EngineKind::in_line && !queue_.empty()) return run_next();
    if (!process_.outcome().ok()) return end(Is::failed);
    if (!process_.is_failing() && item_done()) {
      end_item();
      ++item_;
      after(draw_pause(), [this] {
        begin_item();
        turn();
      });
      return;
    }
    if (finishing_ && check_finish()) return end(Is::finished);
    if (inbox_.empty() && ended_.empty()) return wait();
    receive();
  }
}

void SimulatedProcess::poll() {
  process_.poll(now(), actions_);
  world_.bug.change_actions(self_, actions_);
  for (Outgoing& out : actions_.sends) {
    world_.log.note(self_, [&] {
      return "sends rank " + std::to_string(out.to) + " " + describe(out.envelope);
    });
    world_.network.send(self_, std::move(out));
  }
  for (Start& s : actions_.starts) start(std::move(s));
  actions_.sends.clear();
  actions_.starts.clear();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const runtime::protocol::Rank& rank = *ranks_[i];
    if (!process_.is_failing()) {
      world_.witnesses[i]->holds(self_, rank.executor().step(), rank.ledger());
    }
  }
}

void SimulatedProcess::wait() {
  waits_ = true;
  wait_since_ = world_.timeline.now();
  const std::int64_t number = ++wait_;
  if (actions_.until == Time::max()) return;
  const Time left = std::max(Time{0}, actions_.until - now());
  // The wait is made longer by the possible error of the process's own clock.
  after(left + Time(left.count() / 4000 + 1000), [this, number] { wake(number); });
}

void SimulatedProcess::wake(std::int64_t wait) {
  if (!waits_ || wait != wait_) return;
  waits_ = false;
  after(random_.between(Time{0}, kWakeLatency), [this] {
    receive();
    turn();
  });
}

void SimulatedProcess::receive() {
  read_signs();
  std::vector<Delivery> deliveries = std::exchange(inbox_, {});
  const bool has_rank = item_ < script_.size() && script_[item_].what == Item::What::step;
  world_.bug.change_deliveries(self_, has_rank, deliveries);
  const bool none = deliveries.empty();
  for (Delivery& delivery : deliveries) {
    world_.log.note(self_, [&] {
      return "gets from rank " + std::to_string(delivery.from) + " " + describe(delivery.envelope);
    });
    process_.delivered(std::move(delivery), now());
  }
  if (!none && now() < next_look_) return;
  next_look_ = now() + world_.scenario.limits.silence / 8;
  for (const int peer : world_.scenario.neighbours[index(self_)]) {
    if (!world_.bug.passes_on_heard(self_, peer)) continue;
    process_.heard(peer, heard_[index(peer)], now());
  }
}

// A sign of life that came before the last wait counts as if it came at the start of that wait.
void SimulatedProcess::read_signs() {
  for (const int peer : world_.scenario.neighbours[index(self_)]) {
    const Time sign = world_.network.last_sign(peer, self_);
    Time& read = signs_[index(peer)];
    if (goodbyes_[index(peer)] > 0) heard_[index(peer)] = now();  // runtime/transport.h
    if (sign <= read && heard_[index(peer)] > Time{0}) continue;
    read = sign;
    heard_[index(peer)] = clock(std::max(sign, wait_since_));
  }
  wait_since_ = world_.timeline.now();
}

void SimulatedProcess::arrive(Delivery delivery) {
  if (is_ != Is::alive) return;
  if (delivery.envelope.is<runtime::signals::Lost>()) {
    if (goodbyes_[index(delivery.from)] != 0) return;
  }
  delivery.at = clock(delivery.at);
  inbox_.push_back(std::move(delivery));
  if (waits_) wake(wait_);
}

void SimulatedProcess::arrive_goodbye(int from) {
  goodbyes_[index(from)] = 1;
  if (finishing_ && is_ == Is::alive && waits_) wake(wait_);
}

// ---------------------------------------------------------------- the script

void SimulatedProcess::begin_item() {
  const Item& item = script_[item_];
  switch (item.what) {
    case Item::What::gather: {
      std::string tag = item.tag;
      if (std::exchange(apart_, false)) {
        suffers_ = true;
        tag = "checkpoint/7";
      }
      note("gathers '" + tag + "'");
      return process_.begin_gather(tag, blob_of(tag, self_), now());
    }
    case Item::What::step:
      return begin_step(item);
    case Item::What::finish:
      note("finishes");
      finishing_ = true;
      world_.network.say_goodbye(self_);
      after(kFinishLimit, [this] {
        if (process_.is_failing()) return;
        process_.fail({StatusCode::timeout, "others have not finished"}, now());
        if (waits_) wake(wait_);
      });
      return;
  }
}

void SimulatedProcess::begin_step(const Item& item) {
  runtime::protocol::Rank& rank = *ranks_[item.program];
  note("begins step " + std::to_string(item.step) + " of program " + std::to_string(item.program));
  Status status = rank.begin_step(item.step, world_.witnesses[item.program]->microbatches(), now());
  if (!status.ok()) return process_.fail(std::move(status), now());
  if (std::exchange(refuses_, false)) {
    suffers_ = true;
    Ended refusal;
    refusal.call.task.task.lane = -1;
    refusal.status = {StatusCode::failed, "no data"};
    ended_.push_back(std::move(refusal));
  }
  process_.attach(rank, now());
}

bool SimulatedProcess::item_done() {
  const Item& item = script_[item_];
  if (item.what == Item::What::gather) return process_.gather_done();
  return item.what == Item::What::step && ranks_[item.program]->step_done();
}

void SimulatedProcess::end_item() {
  const Item& item = script_[item_];
  if (item.what == Item::What::step) {
    if (!world_.bug.keeps_attached()) process_.detach();
    world_.witnesses[item.program]->done(self_, item.step);
    note("is done with step " + std::to_string(item.step));
    return;
  }
  const std::vector<runtime::Blob> all = process_.take_gathered();
  bool right = all.size() == index(world_.scenario.processes);
  for (std::size_t i = 0; right && i < all.size(); ++i) {
    right = all[i] == blob_of(item.tag, static_cast<int>(i));
  }
  if (!right && world_.problem.empty()) {
    world_.problem = "rank " + std::to_string(self_) + " gathered something else than was given";
  }
  note("has gathered '" + item.tag + "'");
}

// Whether all peers have said goodbye; a transport's finish() waits for this.
bool SimulatedProcess::check_finish() const {
  for (const int peer : world_.scenario.neighbours[index(self_)]) {
    if (goodbyes_[index(peer)] == 0) return false;
  }
  return !process_.is_failing();
}

void SimulatedProcess::end(Is how) {
  is_ = how;
  if (how == Is::failed && outcome_.ok()) outcome_ = process_.outcome();
  ended_at_ = world_.timeline.now();
  inbox_.clear();
  world_.log.note(self_, [&] {
    return how == Is::finished ? std::string("ends well") : "fails: " + outcome_.message();
  });
  // Its connections close some time after the end, as if it had to clean up first.
  world_.timeline.after(random_.between(Time(0), Time(std::chrono::milliseconds(200))), [this] {
    world_.network.close(self_, "connection closed");
    world_.network.stop(self_);
  });
}

// ---------------------------------------------------------------- the engine

Time SimulatedProcess::draw_pause() {
  const Time pause = world_.scenario.pauses.draw(random_);
  if (pause_ == Time{0}) return pause;
  suffers_ = true;
  longest_busy_ = std::max(longest_busy_, pause_);
  return std::exchange(pause_, Time{0});
}

Time SimulatedProcess::draw_task() {
  Time takes = world_.scenario.tasks.draw(random_) * traits_.slowness;
  const NextTask what = std::exchange(next_task_, NextTask::as_usual);
  if (what != NextTask::as_usual) suffers_ = true;
  if (what == NextTask::takes_long) takes = lasts_;
  if (what == NextTask::never_ends) {
    hangs_ = traits_.engine == EngineKind::in_line;
    return Time::max();
  }
  if (what == NextTask::fails) takes = -takes;
  longest_busy_ = std::max(longest_busy_, takes);
  return takes;
}

void SimulatedProcess::start(Start start) {
  const auto see = [this](const runtime::Call& call) {
    const auto& witness = world_.witnesses[script_[item_].program];
    witness->called(call);
    note("starts " + core::task_name(witness->facts(), call.task.task));
  };
  see(start.call);
  if (start.with) see(*start.with);
  queue_.push_back(std::move(start));
  if (traits_.engine == EngineKind::in_line) return;
  if (traits_.engine == EngineKind::all || !engine_runs_) run_next();
}

// Runs the first call in the queue. An engine beside the loop then takes further calls on its own.
void SimulatedProcess::run_next() {
  engine_runs_ = true;
  Start next = std::move(queue_.front());
  queue_.pop_front();
  // If a pair does not run together, the first task's outputs leave before the second task runs.
  const bool together = next.with && random_.one_in(2);
  if (next.with && !together) {
    queue_.push_front({std::move(*next.with), std::nullopt});
    next.with.reset();
    if (traits_.engine == EngineKind::all) run_next();
  }
  const Time takes = draw_task();
  if (takes == Time::max()) return;
  const Time begin = now();
  auto done = std::make_shared<Start>(std::move(next));
  after(takes < Time{0} ? -takes : takes, [this, done, begin, fails = takes < Time{0}] {
    Ended ended{.call = std::move(done->call), .with = std::move(done->with), .begin = begin};
    ended.end = now();
    if (fails) ended.status = {StatusCode::failed, "out of memory"};
    auto& witness = *world_.witnesses[script_[item_].program];
    if (!fails) witness.give(ended.call);
    if (!fails && ended.with) witness.give(*ended.with);
    engine_runs_ = false;
    if (traits_.engine == EngineKind::in_line) {
      tell_end(std::move(ended));
      if (!queue_.empty()) return run_next();
      receive();
      return turn();
    }
    ended_.push_back(std::move(ended));
    if (traits_.engine == EngineKind::beside && !queue_.empty()) run_next();
    if (waits_) wake(wait_);
  });
}

void SimulatedProcess::tell_end(Ended ended) {
  note(ended.call.task.task.lane < 0 ? "refuses the step" : "ends a task");
  if (!world_.bug.passes_on(self_, ended)) return;
  process_.ended(std::move(ended), now());
  process_.poll_sends(now(), actions_);
  world_.bug.change_actions(self_, actions_);
  for (Outgoing& out : actions_.sends) world_.network.send(self_, std::move(out));
  actions_.sends.clear();
}

bool SimulatedProcess::take_ends() {
  bool any = false;
  while (!ended_.empty()) {
    any = true;
    Ended next = std::move(ended_.front());
    ended_.pop_front();
    tell_end(std::move(next));
  }
  return any;
}

// ---------------------------------------------------------------- faults

void SimulatedProcess::kill() {
  is_ = Is::killed;
  ended_at_ = world_.timeline.now();
  world_.network.kill(self_);
}

void SimulatedProcess::stop() {
  stopped_ = true;
  world_.network.stop(self_);
}

void SimulatedProcess::resume() {
  stopped_ = false;
  world_.network.resume(self_);
  for (auto& action : std::exchange(when_resumed_, {})) after(Time(1), std::move(action));
  if (waits_ && !inbox_.empty()) wake(wait_);
}

void SimulatedProcess::next_task(NextTask what, Time lasts) {
  next_task_ = what;
  lasts_ = lasts;
}

}  // namespace ripeline::joint
