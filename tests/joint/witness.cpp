#include "tests/joint/witness.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "tests/joint/reporting_arbiter.h"

namespace ripeline::joint {
namespace {

using core::Message;
using core::Task;
using runtime::Call;
using runtime::Input;
using runtime::Output;
using runtime::Payload;
using spec::Event;

core::OwnedFacts changed(const core::ProgramFacts& facts, PlantedBug& bug) {
  std::vector<core::EdgeFacts> edges(facts.edges.begin(), facts.edges.end());
  std::vector<core::InboxFacts> inboxes(facts.inboxes.begin(), facts.inboxes.end());
  bug.change_facts(edges, inboxes);
  core::ProgramFacts copy = facts;
  copy.edges = edges;
  copy.inboxes = inboxes;
  return core::OwnedFacts(copy);
}

// A payload's origin, which is the content of the payload.
using Tag = std::array<std::int64_t, 4>;

Payload payload_of(const Tag& tag, const std::shared_ptr<int>& owner) {
  Payload payload;
  payload.head.resize(sizeof tag);
  std::memcpy(payload.head.data(), tag.data(), sizeof tag);
  payload.parts.push_back(
      {.data = reinterpret_cast<std::byte*>(owner.get()), .size = 1, .device = -1, .owner = owner});
  return payload;
}

bool read(const Payload& payload, Tag& tag) {
  if (payload.head.size() != sizeof tag || payload.parts.size() != 1) return false;
  std::memcpy(tag.data(), payload.head.data(), sizeof tag);
  return true;
}

}  // namespace

Witness::Witness(const spec::Program& program, int microbatches, int number, PlantedBug& bug)
    : program_(program),
      true_(lower::facts_of(program)),
      changed_(changed(true_.facts(), bug)),
      machine_(program, microbatches),
      microbatches_(microbatches),
      number_(number) {}

std::unique_ptr<core::Arbiter> Witness::arbiter(int rank) {
  auto inner = std::make_unique<simulate::InterpretedArbiter>(program_, facts(), rank);
  return std::make_unique<ReportingArbiter>(
      std::move(inner),
      ReportingArbiter::Listener{
          .begins = [this](std::int64_t step) { (void)of(step); },
          .happens = [this](std::int64_t step, const Event& event) { happen(step, event); }});
}

void Witness::fail(const std::string& what) {
  if (problem_.empty()) problem_ = what;
}

std::string Witness::name(Task task) const { return core::task_name(true_.facts(), task); }

Witness::Step& Witness::of(std::int64_t step) {
  while (last_step() < step) {
    steps_.push_back({machine_.initial(), {}, {}, std::make_shared<int>(0)});
  }
  return steps_[index(step)];
}

void Witness::happen(std::int64_t step, const Event& event) {
  Step& of_step = of(step);
  if (!problem_.empty()) return;
  if (!machine_.is_enabled(of_step.state, event, spec::Machine::Chooser::any)) {
    return fail("in step " + std::to_string(step) + " the machine does not " +
                machine_.describe(event));
  }
  machine_.step(of_step.state, event);
}

void Witness::called(const Call& call) {
  const Task task = call.task.task;
  const std::string who = name(task) + " of step " + std::to_string(call.task.step);
  Step& step = of(call.task.step);
  if (!step.called.insert({task.lane, task.microbatch}).second) return fail(who + " runs twice");
  const core::ProgramFacts& facts = true_.facts();
  std::set<MessageKey> needed;
  std::set<core::EdgeId> wanted;
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const auto edge = static_cast<core::EdgeId>(i);
    const core::EdgeFacts& e = facts.edges[i];
    if (facts.lanes[index(e.producer)].stage == facts.lanes[index(e.consumer)].stage) continue;
    if (e.consumer == task.lane) {
      const core::TaskSpan span = facts.needed(edge, task.microbatch, microbatches_);
      for (int m = span.first; m < span.last; ++m) needed.insert({edge, m});
    }
    if (e.producer == task.lane && facts.needed_by(edge, task.microbatch, microbatches_) >= 0) {
      wanted.insert(edge);
    }
  }
  for (const Input& input : call.inputs) {
    Tag tag{};
    if (!read(input.payload, tag)) return fail(who + " gets an input without its payload");
    const MessageKey key{static_cast<core::EdgeId>(tag[2]), static_cast<std::int32_t>(tag[3])};
    if (tag[0] != number_ || tag[1] != call.task.step || needed.erase(key) == 0) {
      return fail(who + " gets the payload of edge " + std::to_string(tag[2]) + ", microbatch " +
                  std::to_string(tag[3]) + ", step " + std::to_string(tag[1]) + " of program " +
                  std::to_string(tag[0]));
    }
    const Task producer{facts.edges[index(key.first)].producer, key.second};
    const core::LaneFacts& lane = facts.lanes[index(producer.lane)];
    if (input.stage != lane.stage || input.op != facts.ops[index(lane.op)].name ||
        input.microbatch != facts.microbatch_of(producer)) {
      return fail(who + " gets the payload of " + name(producer) + " as another's");
    }
  }
  if (!needed.empty()) return fail(who + " lacks an input");
  for (const Output& output : call.outputs) {
    if (wanted.erase(output.edge) == 0) return fail(who + " is asked for an output too much");
  }
  if (!wanted.empty()) fail(who + " is not asked for an output");
}

void Witness::give(Call& call) {
  for (Output& output : call.outputs) {
    output.payload = payload_of({number_, call.task.step, output.edge, call.task.task.microbatch},
                                of(call.task.step).payloads);
  }
}

void Witness::holds(int rank, std::int64_t step, const core::Ledger& ledger) {
  if (step < 0 || step > last_step() || !problem_.empty()) return;
  for (std::size_t pool = 0; pool < program_.pools.size(); ++pool) {
    if (program_.pools[pool].rank != rank) continue;
    const std::int64_t held = ledger.held(static_cast<int>(pool));
    const std::int64_t right = steps_[index(step)].state.held[pool];
    if (held == right) continue;
    return fail("the ledger of rank " + std::to_string(rank) + " holds " + std::to_string(held) +
                " of a pool of which " + std::to_string(right) + " is held");
  }
}

void Witness::done(int rank, std::int64_t step) {
  Step& of_step = of(step);
  of_step.done.insert(rank);
  if (of_step.done.size() != index(program_.ranks)) return;
  if (!machine_.done(of_step.state)) {
    fail("all ranks are done with step " + std::to_string(step) + ", the machine is not");
  } else if (of_step.payloads.use_count() > 1 && !repeats_) {
    fail(std::to_string(of_step.payloads.use_count() - 1) + " payloads of step " +
         std::to_string(step) + " are kept when all ranks are done with it");
  }
}

bool Witness::is_stuck() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [this](const Step& step) { return machine_.stuck(step.state); });
}

bool Witness::is_done(int steps) const {
  return last_step() + 1 == steps &&
         std::all_of(steps_.begin(), steps_.end(), [this](const Step& step) {
           return step.done.size() == index(program_.ranks) && machine_.done(step.state);
         });
}

}  // namespace ripeline::joint
