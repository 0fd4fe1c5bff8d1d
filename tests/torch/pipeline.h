// Pipelines for tests of LibTorch stages: programs from text, with processes as threads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/arbiter.h"
#include "runtime/run.h"

namespace ripeline::testing_support {

// A program compiled from text, with an interpreted arbiter for each rank. Aborts on bad text.
class Pipeline {
 public:
  explicit Pipeline(const std::string& text);
  ~Pipeline();

  [[nodiscard]] const core::ProgramFacts& facts() const;
  [[nodiscard]] std::unique_ptr<core::Arbiter> make_arbiter(int rank) const;

  // Calls `body` for every process, each in its own thread with a single LibTorch thread, with the
  // process's arbiter and run. Returns the statuses by process. In each thread it first calls
  // `prepare`, which may wrap the process's transport.
  using Body = std::function<core::Status(core::Arbiter&, runtime::Run&)>;
  using Prepare = std::function<core::Status(int process, std::unique_ptr<runtime::Transport>&)>;
  [[nodiscard]] std::vector<core::Status> run(const Body& body,
                                              const Prepare& prepare = nullptr) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Waits until all processes have called this. Their threads share LibTorch's generator, so none may
// run a stage while another one draws its parameters.
[[nodiscard]] core::Status wait_for_all(runtime::Run& run);

// A chain of `ranks` stages that prefers backwards and has 1F1B's memory; its ops may be
// `sequential`.
[[nodiscard]] std::string chain(int ranks, bool sequential);
// The same sequential chain with the backward in two halves.
[[nodiscard]] std::string split_chain(int ranks);
// The same sequential chain with ops that recompute forwards.
[[nodiscard]] std::string recomputing_chain(int ranks);
// The same sequential chain, but a stage stores its values for the backward on the host: three
// microbatches fit on the device (with `half` eight), eight on the host. `way` is in kOffloadWays.
[[nodiscard]] std::string offloading_chain(int ranks, const std::string& way);
// With `whole` the reload needs the gradient, with `early` the backward, with `both` both. `split`
// has I and W, `recompute` has R, `inline` copies on `compute`, `half` offloads even microbatches.
inline constexpr std::array kOffloadWays = {"whole", "early",     "both",  "split",
                                            "half",  "recompute", "inline"};
// A V placement with two stages per rank.
[[nodiscard]] std::string v(int ranks);

}  // namespace ripeline::testing_support
