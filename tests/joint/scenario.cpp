#include "tests/joint/scenario.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "lower/facts.h"
#include "runtime/protocol/neighbours.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/random_program.h"

namespace ripeline::joint {
namespace {

using core::Time;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Programs with patient hints, whose ranks forecast to each other by notices.
constexpr std::array<std::string_view, 2> kPatient = {R"(pipeline forecasting {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s % ranks;
  op F forward  { cost 1;  needs F at prev;             acquires a leaving chunks - 1 - chunk; }
  op B backward { cost 2;  needs F at here, B at next;  releases a; }
  op C on copy_out { needs B at here; }
  resource a per rank { capacity 2 * ranks + 1; }
  order mostly on r {
    let warm = min(ranks - 1 - r, microbatches);
    F@0 * warm;  (F@0 F@1 B@1 B@0 C@1) * microbatches;
  }
  hint fc { follow mostly;  forecasts;  patience 2;  yield 0.5; }
  dispatch ready by fc;
}
)",
                                                      R"(pipeline company {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward         { cost 1;  needs F at prev;             acquires a; }
  op I backward input  { cost 1;  needs F at here, I at next; }
  op W backward weight { cost 1;  needs I at here;             releases a; }
  resource a per stage { capacity ranks + 1; }
  order zb_h1 on r {
    let warm = min(ranks - 1 - r, microbatches);
    F * warm;  (F I W) * (microbatches - warm);  (I W) * warm;
  }
  pair F, I { cost 1.5; }
  pair F, W;
  hint rn { follow zb_h1;  fill W;  notices;  patience 1.5;  yield 0.9; }
  dispatch ready by rn;
}
)"};

// Whether each rank's order, if there is one, allows this number of microbatches.
bool begins(const spec::Program& program, int microbatches) {
  const core::OwnedFacts facts = lower::facts_of(program);
  simulate::InterpretedArbiter first(program, facts.facts(), 0);
  return first.begin_step(0, microbatches).ok();
}

int draw_microbatches(const spec::Program& program, Random& random) {
  const spec::MicrobatchRange& range = program.microbatches;
  return std::min(range.min + random.below(4), range.max.value_or(range.min + 3));
}

std::optional<Subject> compiled(std::string text, const spec::ElaborateOptions& options,
                                Random& random) {
  spec::Result<spec::Program> program = spec::compile({"program.ripe", text}, options);
  if (!program.ok()) return std::nullopt;
  Subject subject{std::move(text), std::move(program.value()), 1};
  subject.microbatches = draw_microbatches(subject.program, random);
  if (!begins(subject.program, subject.microbatches)) return std::nullopt;
  return subject;
}

std::optional<Subject> of_library(int ranks, Random& random) {
  const std::vector<spec::LibraryEntry>& all = spec::library();
  const spec::LibraryEntry& entry = all[random.below(all.size())];
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  return compiled(std::string(entry.text), options, random);
}

std::optional<Subject> of_patience(int ranks, Random& random) {
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  return compiled(std::string(kPatient[random.below(kPatient.size())]), options, random);
}

std::optional<Subject> of_every_feature(Random& random) {
  testing_support::RandomProgramOptions options;
  options.max_ranks = 5;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.pairs = options.hints = true;
  options.broken_orders = random.one_in(4);
  return compiled(testing_support::random_program_text(random.bits(), options), {}, random);
}

void draw_subjects(Scenario& scenario, Random& random) {
  std::optional<Subject> first;
  while (!first) {
    const int kind = random.below(8);
    if (kind < 5) {
      first = of_every_feature(random);
    } else {
      const int ranks = random.between(2, 6);
      first = kind == 5 ? of_patience(ranks, random) : of_library(ranks, random);
    }
  }
  scenario.processes = first->program.ranks;
  scenario.subjects.push_back(std::move(*first));
  if (!random.one_in(4)) return;
  std::optional<Subject> second = random.one_in(3) ? of_patience(scenario.processes, random)
                                                   : of_library(scenario.processes, random);
  if (second && second->program.ranks == scenario.processes) {
    scenario.subjects.push_back(std::move(*second));
  }
}

// Connects every two processes if `are_all`, else only those that must be connected.
void connect(Scenario& scenario, bool are_all) {
  for (int self = 0; self < scenario.processes; ++self) {
    std::vector<int>& mine = scenario.neighbours.emplace_back();
    for (const Subject& subject : scenario.subjects) {
      const core::OwnedFacts facts = lower::facts_of(subject.program);
      mine = runtime::protocol::united(
          std::move(mine),
          runtime::protocol::neighbours_of(self, {.ranks = scenario.processes}, facts.facts()));
    }
    for (int other = 0; other < scenario.processes && are_all; ++other) {
      if (other != self) mine = runtime::protocol::united(std::move(mine), {other});
    }
  }
}

void draw_traits(Scenario& scenario, Random& random) {
  const int engines = random.below(4);  // 0 to 2: all of one kind; 3: mixed
  for (int process = 0; process < scenario.processes; ++process) {
    ProcessTraits& traits = scenario.traits.emplace_back();
    traits.clock_offset = random.between(Time(seconds(1)), Time(seconds(1'000'000)));
    traits.clock_drift = random.between(-200, 200);
    traits.engine = static_cast<EngineKind>(engines < 3 ? engines : random.below(3));
    traits.slowness = random.one_in(6) ? random.between(2, 50) : 1;
    traits.heartbeat_phase = random.between(Time(0), scenario.heartbeat);
  }
}

void draw_delays(Scenario& scenario, Random& random) {
  switch (random.below(4)) {
    case 0:
      scenario.messages = {microseconds(50), microseconds(500), 20};
      break;
    case 1:
      scenario.messages = {milliseconds(1), milliseconds(50), 10};
      break;
    case 2:
      scenario.messages = {milliseconds(5), milliseconds(900), 8};
      break;
    default:
      scenario.messages = {milliseconds(100), milliseconds(100), 1};
  }
  const bool long_tasks = random.one_in(8);
  for (ProcessTraits& traits : scenario.traits) {
    if (long_tasks) traits.slowness = std::min(traits.slowness, 5);
  }
  scenario.tasks = long_tasks ? Delays{milliseconds(800), seconds(4), 20}
                              : Delays{milliseconds(5), milliseconds(50), 10};
  scenario.pauses = {microseconds(100), milliseconds(20), 5};
}

Fault draw_fault(const Scenario& scenario, FaultKind kind, Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.process = random.below(scenario.processes);
  const std::vector<int>& others = scenario.neighbours[static_cast<std::size_t>(fault.process)];
  const int first = static_cast<int>(std::upper_bound(others.begin(), others.end(), fault.process) -
                                     others.begin());
  const int count = static_cast<int>(others.size());
  const int drawn = first + random.below(std::max(1, count));
  fault.other = count == 0 ? fault.process : others[static_cast<std::size_t>(drawn % count)];
  fault.seed = random.bits();
  const Time silence = scenario.limits.silence;
  if (kind == FaultKind::slow) fault.lasts = random.between(silence, scenario.limits.stall / 3);
  if (kind == FaultKind::pause) fault.lasts = random.between(Time(0), silence / 2);
  if (kind == FaultKind::resume) fault.lasts = random.between(silence * 5 / 4, silence * 4);
  return fault;
}

}  // namespace

std::string_view name_of(FaultKind kind) { return kFaultKinds[static_cast<std::size_t>(kind)]; }

FaultKind kind_of(std::uint64_t seed) { return static_cast<FaultKind>(seed % kFaultKinds.size()); }

Scenario draw_scenario(std::uint64_t seed, FaultKind kind, bool connects_all) {
  Scenario scenario;
  scenario.seed = seed;
  Random random(seed * 2 + 1);
  draw_subjects(scenario, random);
  connect(scenario, connects_all || Random(seed * 2 + 4).one_in(3));
  scenario.steps = random.between(1, 3);
  scenario.gathers = scenario.subjects.size() > 1 || random.one_in(2);
  draw_traits(scenario, random);
  draw_delays(scenario, random);
  if (kind == FaultKind::none || scenario.processes == 1) return scenario;
  if (kind == FaultKind::two) {
    constexpr std::array kSome = {FaultKind::kill, FaultKind::stop, FaultKind::cut, FaultKind::fail,
                                  FaultKind::endless};
    for (int i = 0; i < 2; ++i) {
      scenario.faults.push_back(draw_fault(scenario, kSome[random.below(kSome.size())], random));
    }
  } else {
    scenario.faults.push_back(draw_fault(scenario, kind, random));
  }
  return scenario;
}

void place_faults(Scenario& scenario, std::int64_t events) {
  Random random(scenario.seed * 2 + 2);
  for (Fault& fault : scenario.faults) {
    fault.at_event = random.between<std::int64_t>(1, std::max<std::int64_t>(1, events));
  }
}

std::string describe(const Fault& fault) {
  std::string text = std::string(name_of(fault.kind)) + " of rank " + std::to_string(fault.process);
  if (fault.kind == FaultKind::cut) text += " and rank " + std::to_string(fault.other);
  if (fault.lasts > Time{0}) {
    text += " for " + std::to_string(fault.lasts.count() / 1'000'000) + " ms";
  }
  return text + " at event " + std::to_string(fault.at_event);
}

std::string describe(const Scenario& scenario) {
  std::ostringstream text;
  text << "seed " << scenario.seed << ": " << scenario.processes << " ranks, " << scenario.steps
       << " steps" << (scenario.gathers ? " with gathers" : "") << " of";
  for (const Subject& subject : scenario.subjects) {
    text << " " << subject.program.name << " (" << subject.microbatches << " microbatches)";
  }
  text << "; engines";
  constexpr std::array kNames = {"inline", "beside", "all"};
  for (const ProcessTraits& traits : scenario.traits) {
    text << " " << kNames[static_cast<std::size_t>(traits.engine)];
    if (traits.slowness > 1) text << " x" << traits.slowness;
  }
  for (const Fault& fault : scenario.faults) text << "; " << describe(fault);
  text << "\n";
  return text.str();
}

}  // namespace ripeline::joint
