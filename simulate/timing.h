// Timing: determines how long each task and each message of a run takes.
//
// Means come from the program's costs, costs of a rank, a profile, or flags; jitter and spreads are
// drawn as simulate/jitter.h describes. The simulator uses a Timing, and so does a runtime whose
// tasks only wait. Times are rounded to whole nanoseconds; a duration of 1 is `unit().nanoseconds`.
// Immutable once made; may be shared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/costs.h"
#include "core/facts.h"
#include "core/status.h"
#include "simulate/jitter.h"
#include "simulate/profile.h"
#include "simulate/rank_costs.h"
#include "spec/program.h"
#include "trace/about.h"

namespace ripeline::simulate {

// The unit of costs that only the program gives: 1 is a millisecond on the trace's clock, but has
// no real meaning.
[[nodiscard]] trace::Unit plain_unit();

struct TimingOptions {
  std::optional<trace::Unit> unit;  // if nullopt, the profile's, else plain_unit()
  std::optional<Profile> profile;
  std::optional<RankCosts> rank_costs;  // instead of the program's costs
  // Values for every link, in the unit, which replace those of the profile.
  std::optional<double> latency;
  std::optional<double> bytes_per_second;
  std::optional<double> message_bytes;
  std::optional<double> control;  // for announcements and grants; if nullopt, as the latency
  std::optional<double> notice;   // for notices; if nullopt, as for announcements
  Jitter jitter;
  std::uint64_t seed = 1;
  // The nanoseconds that a duration of 1 takes on the run's clock, whatever its unit, so that a run
  // can be in slow motion; if nullopt, the nanoseconds of the unit.
  std::optional<std::int64_t> clock;
};

// The same options without random draws, so that every task and message takes its mean.
[[nodiscard]] TimingOptions means_of(TimingOptions options);

class Timing {
 public:
  // Fails by status if a step takes too much memory (spec/footprint.h), if the profile has another
  // unit than `options` or lacks an op or input, if both a profile and a rank's costs give costs of
  // tasks, or if a cost has no value. The program is read only here.
  static core::Status make(const spec::Program& program, int microbatches,
                           const TimingOptions& options, Timing& timing);

  [[nodiscard]] const trace::Unit& unit() const { return unit_; }
  // Whether the times depend on the seed.
  [[nodiscard]] bool draws() const { return draws_; }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
  // Describes, for people, the source of the times.
  [[nodiscard]] std::string text() const;
  // Sentences for people on how a profile with costs of tasks does not fit the program's stages.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  [[nodiscard]] core::Time mean(core::Task task) const;
  [[nodiscard]] core::Time task(core::Task task) const {
    const Lane& lane = lanes_[static_cast<std::size_t>(task.lane)];
    return is_fixed(lane) ? lane.fixed : varying_task(task);
  }
  // The factor by which a task of `lane` is slower beside one of `other`. The two must be a pair.
  [[nodiscard]] double slowdown(core::LaneId lane, core::LaneId other) const {
    return slowdowns_.at({lane, other});
  }
  // The time between the sending and the arrival of a message, without transfer().
  [[nodiscard]] core::Time latency(core::Message message) const {
    return draws_ ? drawn_latency(message) : edges_[static_cast<std::size_t>(message.edge)].fixed;
  }
  // The time for which the message occupies the link from its rank to the receiver's.
  [[nodiscard]] core::Time transfer(core::Message message) const {
    return edges_[static_cast<std::size_t>(message.edge)].transfer;
  }
  // The time that an announcement or a grant takes.
  [[nodiscard]] core::Time control(core::EdgeId edge) const;
  // The time of a ballot among a rank's members: the time that the options give to announcements.
  [[nodiscard]] core::Time ballot() const;
  [[nodiscard]] core::Time notice(core::EdgeId edge) const;
  // The input that runs as this microbatch. Draws belong to inputs, not to microbatches.
  [[nodiscard]] int input(int microbatch) const {
    return order_[static_cast<std::size_t>(microbatch)];
  }
  // The mean times, for hints that wait.
  [[nodiscard]] const core::Costs& costs() const { return costs_; }
  // Whether messages of an edge arrive in the order in which they left.
  [[nodiscard]] bool fifo() const { return options_.jitter.fifo; }

 private:
  struct Lane {
    double mean = 1;  // over all its tasks, in the unit
    double cv = 0;
    double slow = 1;  // the factor of its rank
    bool once = false;
    bool measured = false;  // whether the profile has its cost
    spec::Share share;
    std::uint64_t what = 0;
    std::vector<double> means;  // per input; empty if all are equal
    core::Time fixed{0};        // the time, if nothing is drawn
  };
  struct Edge {
    core::LaneId producer = -1;
    double latency = 0;
    double cv = 0;
    core::Time transfer{0};
    core::Time control{0};
    std::uint64_t what = 0;
    core::Time fixed{0};
  };

  [[nodiscard]] core::Status check_lengths(const spec::Program& program, int microbatches) const;
  core::Status set_lanes(const spec::Program& program, int microbatches);
  core::Status set_means(const spec::Program& program, int lane, const spec::Cost& cost,
                         int microbatches);
  void set_lane(const spec::Program& program, int lane, int microbatches);
  void set_edge(const spec::Program& program, int edge);
  void set_notes(const spec::Program& program);
  void set_slowdowns(const spec::Program& program);
  [[nodiscard]] double slowdown_of(const spec::Program& program, int lane, int other) const;
  void set_costs(int microbatches);
  void set_order(const spec::Program& program, int microbatches);
  [[nodiscard]] std::size_t input_of(core::Task task) const;
  // The factor of an input's tasks; 1 for a task that runs once, which belongs to no input.
  [[nodiscard]] double factor_of(const Lane& lane, std::size_t input) const {
    return lane.once ? 1 : inputs_[input];
  }
  // Whether all tasks of the lane take the same time.
  [[nodiscard]] bool is_fixed(const Lane& lane) const {
    return !draws_ && !has_inputs_ && lane.means.empty();
  }
  [[nodiscard]] core::Time varying_task(core::Task task) const;
  [[nodiscard]] core::Time drawn_latency(core::Message message) const;
  [[nodiscard]] core::Time time(double units) const;

  TimingOptions options_;
  trace::Unit unit_ = plain_unit();
  bool draws_ = false;
  double sleep_base_ = 0;  // in the unit
  double slower_ = 1;      // the factor by which the clock is slower than the unit
  bool has_inputs_ = false;
  std::vector<double> inputs_;       // per input, the value of `input`
  std::vector<double> known_;        // per input, its estimated value, divided by the true one
  std::vector<std::int32_t> order_;  // per microbatch, its input
  std::vector<Lane> lanes_;
  spec::ShareWords share_words_;  // the words to which the lanes' shares refer
  std::map<std::pair<core::LaneId, core::LaneId>, double> slowdowns_;
  std::vector<Edge> edges_;
  core::Costs costs_;
  std::vector<std::string> notes_;
};

}  // namespace ripeline::simulate
