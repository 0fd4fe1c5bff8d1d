#include "validate/questions.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/rules.h"
#include "simulate/table_arbiter.h"
#include "spec/priority.h"
#include "validate/probe/probe.h"

namespace ripeline::validate {
namespace {

using spec::Program;

constexpr std::int64_t kMostHeld = 256;  // combinations of held amounts that are all asked

// The pools that an arbiter counts and whose amounts the value of the lane's tasks reads.
std::vector<int> pools_read(const Program& program, const std::vector<int>& counted,
                            const spec::Lane& lane, const spec::Expr& value) {
  const auto found = names_in(value);
  const std::set<std::string> names(found.begin(), found.end());
  std::vector<int> pools;
  for (int r = 0; r < size_of(program.resources); ++r) {
    if (!names.contains(at(program.resources, r).name)) continue;
    const int pool = spec::pool_of(program, r, lane);
    if (std::binary_search(counted.begin(), counted.end(), pool)) pools.push_back(pool);
  }
  return pools;
}

// All combinations of amounts in the pools. If these are too many, each pool has only the amounts
// near 0, half and full; if these are still too many, the later pools are always full.
std::vector<std::vector<std::int64_t>> holdings(const Program& program,
                                                const std::vector<int>& pools) {
  std::int64_t all = 1;
  for (const int pool : pools) {
    all = std::min(all * (*at(program.pools, pool).capacity + 1), kMostHeld + 1);
  }
  std::vector<std::vector<std::int64_t>> found = {{}};
  for (const int pool : pools) {
    const std::int64_t capacity = *at(program.pools, pool).capacity;
    std::set<std::int64_t> amounts = {0, 1, capacity / 2, capacity - 1, capacity};
    for (std::int64_t amount = 0; all <= kMostHeld && amount <= capacity; ++amount) {
      amounts.insert(amount);
    }
    if (static_cast<std::int64_t>(found.size()) > kMostHeld) amounts = {capacity};
    std::vector<std::vector<std::int64_t>> longer;
    for (const std::vector<std::int64_t>& held : found) {
      for (const std::int64_t amount : amounts) {
        longer.push_back(held);
        longer.back().push_back(amount);
      }
    }
    found = std::move(longer);
  }
  return found;
}

class Writer {
 public:
  Writer(const Program& program, const core::ProgramFacts& facts, const QuestionLimits& limits)
      : program_(program),
        facts_(facts),
        limits_(limits),
        counted_(counted_pools(facts)),
        each_(each_differently(facts)) {}

  Questions write() {
    out_.first = program_.microbatches.min;
    out_.last = out_.first + limits_.counts - 1;
    if (program_.microbatches.max) out_.last = std::min(out_.last, *program_.microbatches.max);
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const simulate::ProgramRules rules(program_, facts_, rank);
      const spec::Priorities values(program_, rank);
      for (int m = out_.first; m <= out_.last; ++m) {
        if (facts_.dispatch.has_order()) ask_order(rules, rank, m);
        if (facts_.dispatch.rule == core::HintRule::priority) ask_values(values, rank, m);
      }
    }
    return std::move(out_);
  }

 private:
  void ask(const std::string& question, const std::string& answer) {
    out_.text += question + "\n";
    out_.expected += question + " = " + answer + "\n";
  }

  void ask_order(const simulate::ProgramRules& rules, int rank, int microbatches) {
    if (out_.places >= limits_.places) {
      out_.complete = false;
      return;
    }
    core::OrderWriter order(facts_, rank, microbatches);
    const core::Status status = rules.write_order(rank, microbatches, order);
    ask(fmt::format("order {} {}", rank, microbatches), order_text(status, order));
    out_.places += size_of(order.tasks());
  }

  void ask_values(const spec::Priorities& values, int rank, int microbatches) {
    for (const spec::HintPlace& place : program_.dispatch.hint.places) {
      for (int l = program_.first_lane(rank); l < program_.first_lane(rank + 1); ++l) {
        const spec::Lane& lane = at(program_.lanes, l);
        if (!place.lists(lane)) continue;
        const std::vector<int> pools = pools_read(program_, counted_, lane, *place.priority);
        const std::vector<std::vector<std::int64_t>> combinations = holdings(program_, pools);
        for (int task = 0; task < program_.tasks_of(l, microbatches); ++task) {
          for (const std::vector<std::int64_t>& amounts : combinations) {
            std::string text;
            std::vector<std::int64_t> held(facts_.pools.size(), 0);
            for (std::size_t i = 0; i < pools.size(); ++i) {
              held[static_cast<std::size_t>(pools[i])] = amounts[i];
              text += fmt::format(" {}:{}", pools[i], amounts[i]);
            }
            ask_value(values, {l, task}, microbatches, held, text);
          }
          // Asks with amounts in all counted pools: the value must read only those that it names.
          ask_value(values, {l, task}, microbatches, each_, " each");
        }
      }
    }
  }

  void ask_value(const spec::Priorities& values, core::Task task, int microbatches,
                 const std::vector<std::int64_t>& held, const std::string& text) {
    if (out_.values == limits_.values) {
      out_.complete = false;
      return;
    }
    ++out_.values;
    const std::int64_t value = values.value(
        task, microbatches, [&](int pool) { return held[static_cast<std::size_t>(pool)]; });
    ask(fmt::format("value {} {} {}{}", task.lane, task.microbatch, microbatches, text),
        std::to_string(value));
  }

  const Program& program_;
  const core::ProgramFacts& facts_;
  QuestionLimits limits_;
  std::vector<int> counted_;        // pools whose amounts an arbiter counts
  std::vector<std::int64_t> each_;  // by pool, the amounts of each_differently()
  Questions out_;
};

}  // namespace

Questions questions_of(const Program& program, const core::ProgramFacts& facts,
                       const QuestionLimits& limits) {
  return Writer(program, facts, limits).write();
}

}  // namespace ripeline::validate
