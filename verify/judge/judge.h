// Judge: one way of judging a program, obligation by obligation.
//
// A judge is made for one program and asked once for each obligation, in the order of judged_by().
// What its answers share, such as an invariant, it establishes when it is first needed. A judge of
// groups asks the judge of one member. One thread; what it was made of must outlive it.
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
  // For proved memory, per pool: a bound of what it holds; nothing: that grows with microbatches.
  std::vector<std::optional<std::int64_t>> bounds{};
  std::vector<std::int64_t> held{};  // per pool: what some run holds; empty: none is known
};

// Proved by construction.
[[nodiscard]] Finding by_structure();
// Unknown, for this reason.
[[nodiscard]] Finding not_known(const spec::Diagnostic& why);

class Judge {
 public:
  Judge() = default;
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  virtual ~Judge() = default;

  // Readiness-first each lane runs each microbatch, or the program sticks.
  [[nodiscard]] virtual Finding once() { return by_structure(); }
  // One member has nobody to agree with.
  [[nodiscard]] virtual Finding collectives() { return by_structure(); }
  [[nodiscard]] virtual Finding deadlock() = 0;
  [[nodiscard]] virtual MemoryFinding memory() = 0;
  // After once(). By construction, each message has one producer and one consumer, waits for a slot
  // or has its own, and keeps to its link's order: what remains is that both run once. Whether
  // messages wait for ever is a matter of deadlock.
  [[nodiscard]] virtual Finding messages(Outcome once);
};

// Judges nothing: every obligation is unknown, for one reason.
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

// Per pool, of proved memory.
using PeaksOf = std::function<std::vector<std::optional<Peak>>(const MemoryFinding&)>;
// Asks for every obligation, times each and draws the verdict. Without `peaks_of` memory() speaks
// of no pools.
[[nodiscard]] Verdict judged_by(Judge& judge, const spec::Program& program,
                                const PeaksOf& peaks_of = {});

// `keeping`, `link fifo` are not supported by verify yet.
[[nodiscard]] std::string not_supported(const std::vector<spec::Unsupported>& constructs);

}  // namespace ripeline::verify
