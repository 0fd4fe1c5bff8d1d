#include "simulate/timing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/draw.h"
#include "core/input_order.h"
#include "core/vocabulary/index.h"
#include "spec/footprint.h"

namespace ripeline::simulate {
namespace {

using core::Status;
using core::StatusCode;
using spec::Program;

// The measured bytes in executors, the record of a run and its readers.
constexpr spec::KeptBytes kKeptOfRun{.task = 100, .message = 60, .microbatch = 30};

std::uint64_t task_key(const Program& program, int lane) {
  const spec::Lane& l = at(program.lanes, lane);
  return core::draw_bits(
      0, {name_key(at(program.ops, l.op).name), static_cast<std::uint64_t>(l.stage)});
}

core::Time rounded(double nanoseconds) {
  // A drawn time may exceed the lengths that check_lengths() accepts.
  constexpr double kLongest = 1e18;
  return core::Time{std::llround(std::min(kLongest, nanoseconds))};
}

}  // namespace

trace::Unit plain_unit() { return {"unit", 1'000'000}; }

TimingOptions means_of(TimingOptions options) {
  const std::map<int, double> slow = std::move(options.jitter.slow);
  options.jitter = {};
  options.jitter.slow = slow;
  if (!options.profile) return options;
  for (Profile::Task& task : options.profile->tasks) task.spread = 0;
  for (Profile::Link& link : options.profile->links) link.spread = 0;
  return options;
}

core::Time Timing::time(double units) const {
  return rounded(units * static_cast<double>(unit_.nanoseconds));
}

Status Timing::make(const Program& program, int microbatches, const TimingOptions& options,
                    Timing& timing) {
  if (const auto why = spec::too_large(program, microbatches, kKeptOfRun)) {
    return {StatusCode::invalid, *why};
  }
  Timing t;
  t.options_ = options;
  if (options.profile) t.unit_ = options.profile->unit;
  if (options.unit) {
    if (options.profile && options.profile->unit != *options.unit) {
      return {StatusCode::invalid,
              fmt::format("the unit is {}, and the profile's {}: leave one of them out",
                          options.unit->name, options.profile->unit.name)};
    }
    t.unit_ = *options.unit;
  }
  for (const auto& [rank, factor] : options.jitter.slow) {
    if (rank < program.ranks) continue;
    return {StatusCode::invalid,
            fmt::format("jitter 'slow={}:…': the ranks are 0 to {}", rank, program.ranks - 1)};
  }
  if (options.profile && !options.profile->inputs.empty() &&
      options.profile->inputs.size() < index(microbatches)) {
    return {StatusCode::invalid, fmt::format("the profile has inputs of {} microbatches, not {}",
                                             options.profile->inputs.size(), microbatches)};
  }
  if (t.unit_.name != plain_unit().name) {
    t.sleep_base_ = options.jitter.sleep.base_ms * 1e6 / static_cast<double>(t.unit_.nanoseconds);
  }
  if (options.clock) {
    t.slower_ = static_cast<double>(*options.clock) / static_cast<double>(t.unit_.nanoseconds);
    t.unit_.nanoseconds = *options.clock;
  }
  t.draws_ = options.jitter.draws();
  t.has_inputs_ = t.draws_ || (options.profile && !options.profile->inputs.empty());
  for (int m = 0; m < microbatches; ++m) {
    const bool measured = options.profile && !options.profile->inputs.empty();
    t.inputs_.push_back((measured ? options.profile->inputs[index(m)] : 1) *
                        input_factor(options.jitter, options.seed, static_cast<std::uint64_t>(m)));
    t.known_.push_back(
        estimate_factor(options.jitter, options.seed, static_cast<std::uint64_t>(m)));
  }
  if (Status s = t.set_lanes(program, microbatches); !s.ok()) return s;
  t.set_notes(program);
  t.set_slowdowns(program);
  t.edges_.resize(program.edges.size());
  for (std::size_t edge = 0; edge < program.edges.size(); ++edge) {
    t.set_edge(program, static_cast<int>(edge));
  }
  if (Status s = t.check_lengths(program, microbatches); !s.ok()) return s;
  t.set_order(program, microbatches);
  t.set_costs(microbatches);
  timing = std::move(t);
  return {};
}

// The clock counts nanoseconds in 64 bits, so the sum of all times must fit in these.
Status Timing::check_lengths(const Program& program, int microbatches) const {
  constexpr double kMost = 4e18;
  const double each = kMost / static_cast<double>(unit_.nanoseconds) /
                      static_cast<double>((lanes_.size() + edges_.size()) * index(microbatches));
  const auto refuse = [&](const std::string& what, double units) -> Status {
    return {StatusCode::invalid,
            fmt::format("{} takes {:g} {}, and a run of so many tasks can count to {:g} for each",
                        what, units, unit_.name, each)};
  };
  const auto fits = [&](double units) { return units >= 0 && units <= each; };  // false for NaN
  const double input =
      std::max(1.0, inputs_.empty() ? 1 : *std::max_element(inputs_.begin(), inputs_.end()));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    double most = input;
    for (const auto& [lanes, slowdown] : slowdowns_) {
      if (index(lanes.first) == lane) most = std::max(most, input * slowdown);
    }
    const double mean = lanes_[lane].mean * lanes_[lane].slow * most;
    if (!fits(mean)) return refuse(program.lane_name(static_cast<int>(lane)), mean);
    for (const double one : lanes_[lane].means) {
      if (!fits(one * most)) return refuse(program.lane_name(static_cast<int>(lane)), one * most);
    }
  }
  for (const Edge& edge : edges_) {
    const double transfer =
        static_cast<double>(edge.transfer.count()) / static_cast<double>(unit_.nanoseconds);
    if (!fits(edge.latency + transfer)) return refuse("a message", edge.latency + transfer);
  }
  for (const auto& [what, units] :
       {std::pair{"an announcement", options_.control}, std::pair{"a notice", options_.notice}}) {
    if (units && !fits(*units)) return refuse(what, *units);
  }
  return {};
}

void Timing::set_slowdowns(const Program& program) {
  for (int rank = 0; rank < program.ranks && !program.pairs.empty(); ++rank) {
    const int end = program.first_lane(rank + 1);
    for (int lane = program.first_lane(rank); lane < end; ++lane) {
      for (int other = program.first_lane(rank); other < end; ++other) {
        if (program.pair_of(lane, other) == nullptr) continue;
        slowdowns_[{lane, other}] = slowdown_of(program, lane, other);
      }
    }
  }
}

// If a pair saves a part of the program's costs, it saves the same part of the rank's costs.
double Timing::slowdown_of(const Program& program, int lane, int other) const {
  const double slowdown = program.slowdown(lane, other);
  if (!options_.rank_costs) return slowdown;
  const double alone = at(program.lanes, lane).cost.each.value();
  const double apart = alone + at(program.lanes, other).cost.each.value();
  const double mean = at(lanes_, lane).mean;
  if (alone == 0 || mean == 0) return 1;
  return slowdown * alone / apart * (mean + at(lanes_, other).mean) / mean;
}

// Sorts the inputs into the program's order, by the known costs of all their tasks.
void Timing::set_order(const Program& program, int microbatches) {
  for (int m = 0; m < microbatches; ++m) order_.push_back(m);
  if (program.inputs == spec::InputOrder::natural) return;
  std::vector<std::int64_t> costs(index(microbatches));
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
    if (at(program.lanes, lane).once) continue;
    for (int k = 0; k < program.tasks_of(lane, microbatches); ++k) {
      const int m = program.microbatch_of(lane, k);
      const auto known = static_cast<double>(mean({lane, k}).count()) * known_[index(m)];
      costs[index(m)] += std::llround(known);
    }
  }
  order_ = core::input_order(core::InputOrder::pyramid, costs);
}

// Sets the costs that are known before a step. Lengths of inputs are known, other draws are not.
void Timing::set_costs(int microbatches) {
  for (const Lane& lane : lanes_) {
    const auto id = static_cast<core::LaneId>(costs_.tasks.size());
    costs_.tasks.push_back(time(lane.mean * lane.slow));
    if (!has_inputs_ && lane.means.empty()) continue;
    costs_.varying.resize(lanes_.size());
    std::vector<core::Time>& means = costs_.varying[index(id)];
    const int tasks = lane.once ? 1 : lane.share.below(microbatches);
    for (int m = 0; m < tasks; ++m) {
      const auto exact = static_cast<double>(mean({id, m}).count());
      const double known = lane.once ? 1 : known_[input_of({id, m})];
      means.push_back(core::Time{std::llround(exact * known)});
    }
  }
  for (const Edge& edge : edges_) {
    costs_.links.push_back(time(edge.latency) + edge.transfer);
    costs_.notices.push_back(options_.notice ? time(*options_.notice) : edge.control);
  }
}

Status Timing::set_lanes(const Program& program, int microbatches) {
  lanes_.resize(program.lanes.size());
  share_words_ = program.share_words;
  std::vector<spec::Cost> costs;
  for (const spec::Lane& lane : program.lanes) costs.push_back(lane.cost);
  if (options_.rank_costs) {
    if (options_.profile && !options_.profile->tasks.empty()) {
      return {StatusCode::invalid,
              "the profile has costs of tasks, and costs of a rank are given too: leave one of "
              "them out"};
    }
    const Status made = costs_of_lanes(program, microbatches, *options_.rank_costs, costs);
    if (!made.ok()) return made;
  }
  for (int id = 0; id < size_of(lanes_); ++id) {
    if (Status s = set_means(program, id, at(costs, id), microbatches); !s.ok()) return s;
    set_lane(program, id, microbatches);
  }
  return {};
}

// Sets the lane's means to the program's costs. The means of microbatches outside the lane's share
// stay 0, unless sorting the inputs can move these inputs into the share.
Status Timing::set_means(const Program& program, int id, const spec::Cost& cost, int microbatches) {
  Lane& lane = lanes_[index(id)];
  lane.mean = cost.each.value();
  if (!cost.varies()) return {};
  const spec::Share& share = at(program.lanes, id).share;
  lane.means.assign(index(microbatches), 0);
  double sum = 0;
  int counted = 0;
  for (int m = 0; m < microbatches; ++m) {
    if (program.inputs == spec::InputOrder::natural && !share.has(m)) continue;
    const spec::Result<spec::Rational> value = cost.of(m);
    if (!value.ok()) {
      return {StatusCode::invalid,
              fmt::format("the cost of {} has no value for microbatch {}: {}",
                          program.lane_name(id), m, value.errors().front().message)};
    }
    lane.means[index(m)] = value.value().value();
    sum += lane.means[index(m)];
    ++counted;
  }
  lane.mean = counted == 0 ? 0 : sum / counted;
  return {};
}

void Timing::set_lane(const Program& program, int id, int microbatches) {
  const spec::Lane& l = at(program.lanes, id);
  Lane& lane = lanes_[index(id)];
  lane.what = task_key(program, id);
  lane.once = l.once;
  lane.share = l.share;
  if (const auto slow = options_.jitter.slow.find(l.rank); slow != options_.jitter.slow.end()) {
    lane.slow = slow->second;
  }
  const int inputs = l.once ? 1 : microbatches;
  if (options_.profile) {
    const std::string& op = at(program.ops, l.op).name;
    const auto usual = options_.profile->find_task(program, l.op, l.stage);
    if (usual) {
      lane.means.clear();
      lane.mean = usual->mean;
      lane.cv = usual->mean > 0 ? usual->spread / usual->mean : 0;
    }
    bool of_microbatches = false;
    for (const Profile::Task& task : options_.profile->tasks) {
      if (task.op != op || task.stage.value_or(l.stage) != l.stage) continue;
      if (!task.microbatch || *task.microbatch >= inputs) continue;
      of_microbatches = true;
      if (lane.means.empty()) lane.means.assign(index(inputs), -1);
      lane.means[index(*task.microbatch)] = task.mean;
    }
    lane.measured = usual.has_value() || of_microbatches;
    // Inputs without an entry of their own get the mean over all inputs.
    for (double& mean : lane.means) mean = mean < 0 ? lane.mean : mean;
  }
  draws_ = draws_ || lane.cv > 0;
  lane.fixed = time(lane.mean * lane.slow);
}

void Timing::set_notes(const Program& program) {
  if (!options_.profile || options_.profile->tasks.empty()) return;
  std::vector<std::string> missing;
  for (int op = 0; op < size_of(program.ops); ++op) {
    int all = 0;
    int measured = 0;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (program.lanes[lane].op != op) continue;
      ++all;
      measured += lanes_[lane].measured ? 1 : 0;
    }
    if (measured == all) continue;
    missing.push_back(
        at(program.ops, op).name +
        (measured > 0 ? fmt::format(" at {} of {} stages", all - measured, all) : ""));
  }
  if (!missing.empty()) {
    notes_.push_back(
        fmt::format("the profile has no cost of {}: the program's is taken, in the profile's unit",
                    fmt::join(missing, ", ")));
  }
  int last = -1;
  for (const Profile::Task& task : options_.profile->tasks)
    last = std::max(last, task.stage.value_or(-1));
  if (last >= size_of(program.stages)) {
    notes_.push_back(fmt::format(
        "the profile has costs of stages up to {}, and the program's last is {}: it is of another "
        "number of stages",
        last, size_of(program.stages) - 1));
  }
}

void Timing::set_edge(const Program& program, int id) {
  const spec::Edge& e = at(program.edges, id);
  if (!program.crosses_ranks(e)) return;
  Edge& edge = edges_[index(id)];
  edge.producer = e.producer;
  edge.what = core::draw_bits(task_key(program, e.producer), {task_key(program, e.consumer)});
  double rate = 0;
  double bytes = 0;
  if (options_.profile) {
    int best = -1;
    const int from = at(program.lanes, e.producer).rank;
    const int to = at(program.lanes, e.consumer).rank;
    for (const Profile::Link& link : options_.profile->links) {
      if (link.from.value_or(from) != from || link.to.value_or(to) != to) continue;
      const int says = (link.from ? 1 : 0) + (link.to ? 1 : 0);
      if (says < best) continue;
      best = says;
      edge.latency = link.latency;
      edge.cv = link.latency > 0 ? link.spread / link.latency : 0;
      rate = link.bytes_per_second;
    }
    bytes = options_.profile->bytes_of(program, at(program.lanes, e.producer).op);
  }
  if (options_.latency) {
    edge.latency = *options_.latency;
    edge.cv = 0;
  }
  rate = options_.bytes_per_second.value_or(rate);
  bytes = options_.message_bytes.value_or(bytes);
  if (rate > 0) edge.transfer = rounded(bytes / rate * 1e9 * slower_);
  const auto measured = options_.profile ? options_.profile->control : std::nullopt;
  edge.control = time(options_.control.value_or(measured.value_or(edge.latency)));
  edge.fixed = time(edge.latency);
  draws_ = draws_ || edge.cv > 0;
}

std::size_t Timing::input_of(core::Task task) const {
  const Lane& lane = lanes_[index(task.lane)];
  return lane.once ? 0 : index(input(lane.share.microbatch(task.microbatch)));
}

core::Time Timing::mean(core::Task task) const {
  const Lane& lane = lanes_[index(task.lane)];
  if (lane.means.empty() && !has_inputs_) return lane.fixed;
  const std::size_t input = input_of(task);
  const double mean = lane.means.empty() ? lane.mean : lane.means[input];
  return time(mean * lane.slow * factor_of(lane, input));
}

core::Time Timing::varying_task(core::Task task) const {
  if (!draws_) return mean(task);
  const Lane& lane = lanes_[index(task.lane)];
  const std::size_t input = input_of(task);
  const Drawn drawn{options_.seed, lane.what, input};
  double units = lane.means.empty() ? lane.mean : lane.means[input];
  units *= lane.slow * factor_of(lane, input);
  units *= task_factor(options_.jitter, drawn) * spread_factor(lane.cv, drawn);
  units += task_sleep(options_.jitter, drawn, lane.mean * lane.slow, sleep_base_);
  return time(units);
}

core::Time Timing::drawn_latency(core::Message message) const {
  const Edge& edge = edges_[index(message.edge)];
  const auto input = static_cast<std::uint64_t>(input_of({edge.producer, message.microbatch}));
  const Drawn drawn{options_.seed, edge.what, input};
  return time(edge.latency * spread_factor(edge.cv, drawn) + message_delay(options_.jitter, drawn));
}

core::Time Timing::control(core::EdgeId edge) const { return edges_[index(edge)].control; }
core::Time Timing::ballot() const {
  return time(options_.control.value_or(options_.latency.value_or(0)));
}

core::Time Timing::notice(core::EdgeId edge) const { return costs_.notices[index(edge)]; }

std::string Timing::text() const {
  std::string text = options_.profile ? "costs of a profile" : "costs of the program";
  if (options_.rank_costs) text = "costs of a rank " + options_.rank_costs->text;
  if (unit_.name != plain_unit().name) text += fmt::format(", in {}", unit_.name);
  if (options_.latency) text += fmt::format(", latency {}", *options_.latency);
  if (!options_.jitter.text.empty()) text += ", jitter " + options_.jitter.text;
  if (draws_) text += fmt::format(", drawn with seed {}", options_.seed);
  return text;
}

}  // namespace ripeline::simulate
