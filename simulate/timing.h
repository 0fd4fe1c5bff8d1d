// Timing: how long each task and each message of a run takes.
//
// Means come from the program's costs, costs of a rank, a profile, or flags; jitter and spreads are
// drawn as simulate/jitter.h says. The simulator uses it, and so does a runtime whose tasks only
// take their time. Times are exact nanoseconds: a duration of 1 is `unit().nanoseconds`, and times
// are rounded to whole nanoseconds. Immutable once made; shared freely.
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

// The unit of costs that the program alone gives: 1 is a millisecond on the trace's clock, and has
// no meaning beyond that.
[[nodiscard]] trace::Unit plain_unit();

struct TimingOptions {
  std::optional<trace::Unit> unit;  // nothing: the profile's, else plain_unit()
  std::optional<Profile> profile;
  std::optional<RankCosts> rank_costs;  // instead of the program's costs
  // Values for every link, in the unit; they replace the profile's.
  std::optional<double> latency;
  std::optional<double> bytes_per_second;
  std::optional<double> message_bytes;
  std::optional<double> control;  // announcements and grants; nothing: as long as the latency
  std::optional<double> notice;   // notices; nothing: as long as announcements
  Jitter jitter;
  std::uint64_t seed = 1;
  // How long a duration of 1 is on the run's clock, in nanoseconds, whatever the unit, so that a
  // run can be in slow motion. Nothing: as long as the unit.
  std::optional<std::int64_t> clock;
};

// The same options without random draws: every task and message takes its mean.
[[nodiscard]] TimingOptions means_of(TimingOptions options);

class Timing {
 public:
  // Fails by status if a step takes too much memory (spec/footprint.h), the profile is in another
  // unit than the one wished or lacks an op or input, costs of tasks are given both by a profile
  // and for a rank, or a cost has no value. The program is read only here.
  static core::Status make(const spec::Program& program, int microbatches,
                           const TimingOptions& options, Timing& timing);

  [[nodiscard]] const trace::Unit& unit() const { return unit_; }
  // Whether the seed matters.
  [[nodiscard]] bool draws() const { return draws_; }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
  // A text for people on where the times come from.
  [[nodiscard]] std::string text() const;
  // Sentences for people on where a profile with costs of tasks does not fit the program's stages.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  [[nodiscard]] core::Time mean(core::Task task) const;
  [[nodiscard]] core::Time task(core::Task task) const {
    const Lane& lane = lanes_[static_cast<std::size_t>(task.lane)];
    return is_fixed(lane) ? lane.fixed : varying_task(task);
  }
  // The factor by which a task of `lane` takes longer beside one of `other`; the two are a pair.
  [[nodiscard]] double slowdown(core::LaneId lane, core::LaneId other) const {
    return slowdowns_.at({lane, other});
  }
  // The time from when a message leaves until it arrives, without transfer().
  [[nodiscard]] core::Time latency(core::Message message) const {
    return draws_ ? drawn_latency(message) : edges_[static_cast<std::size_t>(message.edge)].fixed;
  }
  // How long the message occupies the link from its rank to the receiver's.
  [[nodiscard]] core::Time transfer(core::Message message) const {
    return edges_[static_cast<std::size_t>(message.edge)].transfer;
  }
  // The time that an announcement or a grant takes.
  [[nodiscard]] core::Time control(core::EdgeId edge) const;
  // The time of a ballot among a rank's members: that of an announcement, from the options alone.
  [[nodiscard]] core::Time ballot() const;
  [[nodiscard]] core::Time notice(core::EdgeId edge) const;
  // The input that runs as this microbatch; draws are for inputs, not for microbatches.
  [[nodiscard]] int input(int microbatch) const {
    return order_[static_cast<std::size_t>(microbatch)];
  }
  // The means, for hints that wait.
  [[nodiscard]] const core::Costs& costs() const { return costs_; }
  // Messages of an edge arrive in the order in which they left.
  [[nodiscard]] bool fifo() const { return options_.jitter.fifo; }

 private:
  struct Lane {
    double mean = 1;  // over all its tasks, in the unit
    double cv = 0;
    double slow = 1;  // its rank's factor
    bool once = false;
    bool measured = false;  // whether the profile has its cost
    spec::Share share;
    std::uint64_t what = 0;
    std::vector<double> means;  // per input; empty: all the same
    core::Time fixed{0};        // the time without draws
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
  // The factor of an input's tasks; a task that runs once belongs to no input.
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
  double slower_ = 1;      // how much slower the clock is than the unit
  bool has_inputs_ = false;
  std::vector<double> inputs_;       // per input: the value of `input`
  std::vector<double> known_;        // per input: its estimated value, divided by the true one
  std::vector<std::int32_t> order_;  // per microbatch: its input
  std::vector<Lane> lanes_;
  spec::ShareWords share_words_;  // the lanes' shares view them
  std::map<std::pair<core::LaneId, core::LaneId>, double> slowdowns_;
  std::vector<Edge> edges_;
  core::Costs costs_;
  std::vector<std::string> notes_;
};

}  // namespace ripeline::simulate
