// This is the only file of record_verdicts that includes verify/ and simulate/.
#include "tests/compare/record.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lower/facts.h"
#include "optimise/least_capacity.h"
#include "optimise/repair.h"
#include "simulate/run_program.h"
#include "spec/parse.h"
#include "verify/every_depth.h"
#include "verify/verify.h"

namespace ripeline::compare {
namespace {

using Json = nlohmann::ordered_json;
using optimise::LeastCapacity;
using verify::Outcome;

// A hash of lines of text; it depends on nothing else, so it is the same on every machine.
template <class Lines, class LineOf>
std::string hash_of_lines(const Lines& lines, const LineOf& line_of) {
  std::uint64_t hash = spec::kHashOfNothing;
  for (const auto& line : lines) hash = spec::hash_of(line_of(line) + "\n", hash);
  return spec::hash_text(hash);
}

std::string line_of_event(const spec::Event& event) {
  constexpr const char* kNames[] = {"start", "end", "arrive", "agree"};
  return fmt::format("{} {} {} {} {}", kNames[static_cast<std::size_t>(event.what)], event.lane,
                     event.microbatch, event.edge, event.member);
}

std::string line_of_wait(const verify::BlockedTask& wait) {
  return fmt::format("{} {} {} {}", wait.lane, wait.microbatch, wait.member, wait.text);
}

Json json_of(const verify::Counterexample& run) {
  Json json = {{"microbatches", run.microbatches},
               {"fewest", run.fewest},
               {"events", run.events.size()},
               {"events_hash", hash_of_lines(run.events, line_of_event)}};
  if (run.members > 1) json["members"] = run.members;
  if (!run.waits.empty()) json["waits_hash"] = hash_of_lines(run.waits, line_of_wait);
  return json;
}

Json json_of(const verify::Obligation& obligation) {
  Json json = {{"outcome", verify::name_of(obligation.outcome)}};
  if (obligation.method != verify::Method::none) {
    json["method"] = verify::name_of(obligation.method);
  }
  if (!obligation.reason.empty()) json["reason"] = obligation.reason;
  if (!(obligation.span == spec::Span{})) {
    json["at"] = {obligation.span.begin, obligation.span.end};
  }
  if (!obligation.counts.empty()) json["counts"] = obligation.counts;
  for (const auto& [resource, peaks] : obligation.peak) {
    Json list = Json::array();
    for (const auto& peak : peaks) {
      list.push_back(peak ? Json(peak->bound) : Json(nullptr));
      if (peak && !peak->reached) json["at_most"][resource].push_back(list.size() - 1);
    }
    json["peak"][resource] = std::move(list);
  }
  if (obligation.counterexample) json["counterexample"] = json_of(*obligation.counterexample);
  if (obligation.other_choices) json["other_choices"] = json_of(*obligation.other_choices);
  return json;
}

void add(const verify::Verdict& verdict, Json& entry) {
  entry["verdict"] = verify::name_of(verdict.outcome);
  if (verdict.every_rank_from) entry["every_rank_from"] = *verdict.every_rank_from;
  entry["assumptions_hash"] =
      hash_of_lines(verdict.assumptions, [](const std::string& said) { return said; });
  for (const verify::Obligation& obligation : verdict.obligations) {
    entry[verify::name_of(obligation.kind)] = json_of(obligation);
  }
}

Json json_of(const optimise::Repairs& repairs) {
  const auto& of = repairs.obligation;
  Json json = {{"of", of ? verify::name_of(*of) : ""}};
  for (const verify::ProvedRepair& repair : repairs.proved) {
    json["found"].push_back(fmt::format("{}: {}", repair.what, repair.text));
  }
  if (!repairs.note.empty()) json["note"] = repairs.note;
  return json;
}

std::string name_of(LeastCapacity::Smaller smaller) {
  switch (smaller) {
    case LeastCapacity::Smaller::none:
      return "none";
    case LeastCapacity::Smaller::refuted:
      return "refuted";
    case LeastCapacity::Smaller::not_proved:
      return "not proved";
    case LeastCapacity::Smaller::not_tried:
      break;
  }
  return "not tried";
}

Json json_of(const LeastCapacity& least) {
  if (least.outcome != Outcome::proved) {
    return {{"outcome", verify::name_of(least.outcome)}, {"reason", least.reason}};
  }
  return {{"uniform", least.uniform},
          {"below_uniform", name_of(least.below_uniform)},
          {"each", least.each},
          {"sum", least.sum},
          {"below_sum", name_of(least.below_sum)}};
}

Json json_of(const spec::Diagnostics& errors) {
  Json json = Json::array();
  for (const spec::Diagnostic& error : errors) {
    json.push_back(fmt::format("{}: {}", error.id, error.message));
  }
  return json;
}

void record_every_depth(const Subject& subject, const verify::VerifyOptions& options, Json& entry) {
  const auto tree = spec::parse(subject.source);
  if (!tree.ok()) {
    entry["errors"] = json_of(tree.errors());
    return;
  }
  const auto found =
      verify::verify_every_depth(tree.value(), subject.source, subject.options, options);
  if (!found.ok()) {
    entry["errors"] = json_of(found.errors());
    return;
  }
  entry["program"] = spec::hash_text(found.value().sample.hash);
  add(found.value().verdict, entry);
}

// The makespan in nanoseconds and the peaks of one simulated step, or the reason for their absence.
Json json_of(const simulate::RunReport& run) {
  if (!run.status.ok()) return {{"status", run.status.message()}};
  if (run.stuck) return {{"stuck_hash", spec::hash_text(spec::hash_of(run.waiting))}};
  return {{"makespan", run.makespan.count()}, {"messages", run.messages}, {"peaks", run.peaks}};
}

// Simulates the program with its mean costs, and with random ones.
void record_runs(const spec::Program& program, Json& entry) {
  constexpr int kMicrobatches = 6;  // or the nearest number that the program allows
  const spec::MicrobatchRange& range = program.microbatches;
  const int microbatches =
      std::max(range.min, std::min(kMicrobatches, range.max.value_or(kMicrobatches)));
  const core::OwnedFacts facts = lower::facts_of(program);
  for (const char* jitter : {"", "uniform=0.3,exponential=0.5"}) {
    simulate::TimingOptions options;
    simulate::Timing timing;
    core::Status status = simulate::Jitter::parse(jitter, options.jitter);
    if (status.ok()) status = simulate::Timing::make(program, microbatches, options, timing);
    entry["runs"].push_back(
        status.ok() ? json_of(run_program(program, facts.facts(), microbatches, timing, {}))
                    : Json{{"status", status.message()}});
  }
}

}  // namespace

Json record(const Subject& subject, const Limits& limits) {
  const verify::VerifyOptions options{.solver_steps = limits.solver_steps,
                                      .search_states = limits.search_states};
  Json entry = {{"id", subject.id}};
  if (subject.every_depth) {
    record_every_depth(subject, options, entry);
    return entry;
  }
  const auto program = spec::compile(subject.source, subject.options);
  if (!program.ok()) {
    entry["errors"] = json_of(program.errors());
    return entry;
  }
  const verify::Verdict verdict = verify::verify(program.value(), options);
  entry["program"] = spec::hash_text(program.value().hash);
  add(verdict, entry);
  record_runs(program.value(), entry);
  if (subject.repairs && verdict.outcome == Outcome::refuted) {
    entry["repairs"] =
        json_of(optimise::find_repairs(subject.source, subject.options, program.value(), verdict));
  }
  if (subject.least && verdict.outcome == Outcome::proved) {
    for (const std::string& name : optimise::least_names(program.value())) {
      entry["least"][name] = json_of(optimise::least_capacity(program.value(), name, options));
    }
  }
  return entry;
}

}  // namespace ripeline::compare
