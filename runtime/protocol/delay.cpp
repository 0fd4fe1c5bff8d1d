#include "runtime/protocol/delay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/draw.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using core::Time;

enum class Draw : std::uint64_t { jitter = 1, rare };

// A number in [0, 1) that is a function of the arguments alone.
double uniform(std::uint64_t seed, Draw draw, std::int64_t step, std::int64_t what,
               std::int64_t microbatch) {
  const std::uint64_t bits = core::draw_bits(
      seed, {static_cast<std::uint64_t>(draw), static_cast<std::uint64_t>(step),
             static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(microbatch)});
  return static_cast<double>(bits) * 0x1.0p-53;
}

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value) &&
         value >= 0;
}

bool read_seed(std::string_view text, std::uint64_t& seed) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

// Accepts at most an hour, so that sums stay far from overflow.
bool read_time(std::string_view text, Time& time) {
  double ms = 0;
  if (!read_number(text, ms) || ms > 3'600'000) return false;
  time = Time(static_cast<Time::rep>(ms * 1e6));
  return true;
}

}  // namespace

Status DelayPlan::parse(std::string_view spec, std::uint64_t seed, DelayPlan& plan) {
  DelayPlan result;
  result.seed_ = seed;
  for (std::string_view rest = spec; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    const std::size_t colon = value.find(':');
    const std::string_view left = value.substr(0, colon);
    const std::string_view right = colon == std::string_view::npos ? "" : value.substr(colon + 1);
    const char* wanted = nullptr;
    double share = 0;
    if (key == "compute") {
      Time time{0};
      if (left.empty() || !read_time(right, time)) wanted = "compute=OP:MS, as in compute=F:4";
      result.compute_[std::string(left)] = time;
    } else if (key == "jitter") {
      if (!read_number(value, result.jitter_) || result.jitter_ > 1)
        wanted = "jitter=P with P from 0 to 1";
    } else if (key == "message") {
      if (!read_time(value, result.message_)) wanted = "message=MS, as in message=0.5";
    } else if (key == "rare") {
      if (!read_number(left, share) || share > 100 || !read_time(right, result.rare_)) {
        wanted = "rare=PERCENT:MS, as in rare=2:80";
      }
      result.rare_share_ = share / 100;
    } else if (key == "seed") {
      if (!read_seed(value, result.seed_)) wanted = "seed=N, a whole number from 0";
    } else if (part == "fifo") {
      result.fifo_ = true;
    } else {
      wanted = "compute=OP:MS, jitter=P, message=MS, rare=PERCENT:MS, seed=N or fifo";
    }
    if (wanted != nullptr) {
      return {StatusCode::invalid, "delay '" + std::string(part) + "': expected " + wanted};
    }
  }
  plan = std::move(result);
  return {};
}

Status DelayPlan::check_ops(const std::vector<const core::ProgramFacts*>& programs) const {
  std::vector<std::string> names;
  for (const core::ProgramFacts* program : programs) {
    for (const auto& op : program->ops) {
      const std::string name(op.name);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& [op, time] : compute_) {
    if (std::find(names.begin(), names.end(), op) != names.end()) continue;
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    return {StatusCode::invalid,
            "delay 'compute=" + op + "': no op is called '" + op + "'; ops here: " + known};
  }
  return {};
}

bool DelayPlan::empty() const {
  return compute_.empty() && message_.count() == 0 && rare_share_ == 0;
}

Time DelayPlan::compute(const core::ProgramFacts& facts, std::int64_t step, core::Task task) const {
  const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(task.lane)];
  const auto found = compute_.find(facts.ops[static_cast<std::size_t>(lane.op)].name);
  if (found == compute_.end()) return Time{0};
  // Drawn by stage and op, since programs that are compared may number their lanes differently.
  const double u =
      uniform(seed_, Draw::jitter, step, lane.stage * 64 + lane.op, facts.microbatch_of(task));
  return Time(static_cast<Time::rep>(static_cast<double>(found->second.count()) *
                                     (1 + jitter_ * (2 * u - 1))));
}

Time DelayPlan::message(const core::ProgramFacts& facts, std::int64_t step,
                        core::Message message) const {
  const core::EdgeFacts& edge = facts.edges[static_cast<std::size_t>(message.edge)];
  const core::LaneFacts& from = facts.lanes[static_cast<std::size_t>(edge.producer)];
  const core::LaneFacts& to = facts.lanes[static_cast<std::size_t>(edge.consumer)];
  const std::int64_t what =
      ((static_cast<std::int64_t>(from.stage) * 64 + from.op) << 32) + to.stage * 64 + to.op;
  const int microbatch = facts.microbatch_of({edge.producer, message.microbatch});
  const bool is_rare = uniform(seed_, Draw::rare, step, what, microbatch) < rare_share_;
  return message_ + (is_rare ? rare_ : Time{0});
}

std::function<Time(const signals::OfMessage&, Time)> due_of(const DelayPlan& plan,
                                                            const core::ProgramFacts& facts) {
  return [plan, &facts, last = std::map<core::EdgeId, Time>()](const signals::OfMessage& of,
                                                               Time sent) mutable {
    const Time due = sent + plan.message(facts, of.step, of.message);
    if (!plan.fifo()) return due;
    Time& last_of_edge = last[of.message.edge];
    return last_of_edge = std::max(last_of_edge, due);
  };
}

}  // namespace ripeline::runtime::protocol
