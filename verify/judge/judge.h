// Judge: one way of judging a program, obligation by obligation.
//
// A judge is made for one program and asked once for each obligation, in the order of judged_by().
// Facts that its answers share, such as an invariant, are established when first needed. A judge of
// groups asks the judge of one member. One thread; a judge's arguments must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "verify/verdict.h"

namespace ripeline::verify {

// The result for one obligation, before it is named and timed.
struct Finding {
  Outcome outcome = Outcome::unknown;
  Method method = Method::none;
  std::string reason{};
  spec::Span span{};
  std::optional<Counterexample> counterexample{};
  std::optional<Counterexample> other_choices{};
  std::vector<int> counts{};  // see Obligation
};

struct MemoryFinding {
  Finding finding;
  // For proved memory: a bound of each pool's amount; nullopt if that amount grows with the count.
  std::vector<std::optional<std::int64_t>> bounds{};
  std::vector<std::int64_t> held{};  // by pool: an amount that some run holds; empty if not known
};

// The finding of an obligation that holds by construction.
[[nodiscard]] Finding by_structure();
// An unknown finding with this reason.
[[nodiscard]] Finding not_known(const spec::Diagnostic& why);

class Judge {
 public:
  Judge() = default;
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  virtual ~Judge() = default;

  // With readiness-first dispatch, each lane runs each microbatch once, or the program sticks.
  [[nodiscard]] virtual Finding once() { return by_structure(); }
  // A single member has no other member to agree with.
  [[nodiscard]] virtual Finding collectives() { return by_structure(); }
  [[nodiscard]] virtual Finding deadlock() = 0;
  [[nodiscard]] virtual MemoryFinding memory() = 0;
  // Must be asked after once(). By construction, each message has one producer and one consumer,
  // waits for a slot or has its own, and keeps to its link's order. So it remains to show that both
  // tasks run once. A message that waits for ever is a deadlock.
  [[nodiscard]] virtual Finding messages(Outcome once);
};

// A judge that answers unknown to every obligation, for one reason.
class NoJudge final : public Judge {
 public:
  NoJudge(std::string reason, spec::Span span) : reason_(std::move(reason)), span_(span) {}
  [[nodiscard]] Finding once() override { return open(); }
  [[nodiscard]] Finding collectives() override { return open(); }
  [[nodiscard]] Finding deadlock() override { return open(); }
  [[nodiscard]] MemoryFinding memory() override { return {open()}; }
  [[nodiscard]] Finding messages(Outcome /*once*/) override { return open(); }

 private:
  [[nodiscard]] Finding open() const { return {.reason = reason_, .span = span_}; }
  std::string reason_;
  spec::Span span_;
};

// Returns the peak of each pool, for proved memory.
using PeaksOf = std::function<std::vector<std::optional<Peak>>(const MemoryFinding&)>;
// Asks for every obligation, measures the time of each, and draws the verdict. Without `peaks_of`,
// the memory obligation lists no peaks.
[[nodiscard]] Verdict judged_by(Judge& judge, const spec::Program& program,
                                const PeaksOf& peaks_of = {});

// A sentence such as: `keeping`, `link fifo` are not supported by verify yet.
[[nodiscard]] std::string not_supported(const std::vector<spec::Unsupported>& constructs);

}  // namespace ripeline::verify
