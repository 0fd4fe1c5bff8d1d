// Timing: what each task and each message of a run takes.
//
// Means come from the program's costs, costs of a rank, a profile, or flags; jitter and spreads are
// drawn as simulate/jitter.h says. The simulator asks it, and so may whoever runs tasks that only
// take their time. Times are exact nanoseconds: a duration of 1 is `unit().nanoseconds`, and what
// is not a whole number of them is rounded. Immutable once made; shared freely.
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

// The unit of costs where the program alone gives them: 1 is a millisecond on the trace's clock,
// and has no meaning beyond that.
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
  // How long a duration of 1 is on the run's clock, in nanoseconds, whatever its unit: a run in
  // slow motion. Nothing: as long as the unit.
  std::optional<std::int64_t> clock;
};

// The same without what is drawn: all takes its mean.
[[nodiscard]] TimingOptions means_of(TimingOptions options);

class Timing {
 public:
  // Fails by status: a step that takes too much memory (spec/footprint.h), a profile in another
  // unit than the one wished, an op or input that it lacks, costs of tasks from a profile and for a
  // rank, a cost without a value. The program is read only here.
  static core::Status make(const spec::Program& program, int microbatches,
                           const TimingOptions& options, Timing& timing);

  [[nodiscard]] const trace::Unit& unit() const { return unit_; }
  // Whether the seed matters.
  [[nodiscard]] bool draws() const { return draws_; }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
  // For people: where times come from.
  [[nodiscard]] std::string text() const;
  // For people: where a profile with costs of tasks is not one of this program's stages. Sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  [[nodiscard]] core::Time mean(core::Task task) const;
  [[nodiscard]] core::Time task(core::Task task) const {
    const Lane& lane = lanes_[static_cast<std::size_t>(task.lane)];
    return is_fixed(lane) ? lane.fixed : varying_task(task);
  }
  // How many times as long a task of `lane` takes while it runs beside one of `other`, a pair.
  [[nodiscard]] double slowdown(core::LaneId lane, core::LaneId other) const {
    return slowdowns_.at({lane, other});
  }
  // From the moment at which a message leaves until it arrives, transfer() aside.
  [[nodiscard]] core::Time latency(core::Message message) const {
    return draws_ ? drawn_latency(message) : edges_[static_cast<std::size_t>(message.edge)].fixed;
  }
  // How long the message keeps the way from its rank to the other's to itself.
  [[nodiscard]] core::Time transfer(core::Message message) const {
    return edges_[static_cast<std::size_t>(message.edge)].transfer;
  }
  // The time that an announcement or a grant takes.
  [[nodiscard]] core::Time control(core::EdgeId edge) const;
  // The time of a ballot among a rank's members: that of an announcement, by the options alone.
  [[nodiscard]] core::Time ballot() const;
  [[nodiscard]] core::Time notice(core::EdgeId edge) const;
  // The input that the microbatch is; what is drawn is drawn for inputs.
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
    bool measured = false;  // the profile has its cost
    spec::Share share;
    std::uint64_t what = 0;
    std::vector<double> means;  // per input; empty: all the same
    core::Time fixed{0};        // without anything drawn
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
  // The factor of a microbatch's tasks; a task that runs once is of none.
  [[nodiscard]] double factor_of(const Lane& lane, std::size_t input) const {
    return lane.once ? 1 : inputs_[input];
  }
  // Every task of the lane takes as long.
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
  double slower_ = 1;      // than the unit: the clock
  bool has_inputs_ = false;
  std::vector<double> inputs_;       // per input: what `input` is
  std::vector<double> known_;        // per input: what it is thought to be, over that
  std::vector<std::int32_t> order_;  // per microbatch: its input
  std::vector<Lane> lanes_;
  spec::ShareWords share_words_;  // the lanes' shares view them
  std::map<std::pair<core::LaneId, core::LaneId>, double> slowdowns_;
  std::vector<Edge> edges_;
  core::Costs costs_;
  std::vector<std::string> notes_;
};

}  // namespace ripeline::simulate
