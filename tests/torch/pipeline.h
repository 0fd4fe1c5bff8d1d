// Pipelines for tests of LibTorch stages: programs from text, processes as threads.
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

  // Calls `body` for every process, each in a thread of its own with a single LibTorch thread, with
  // its place in a run of all. Returns the statuses by process.
  // `prepare` is called there before, and may put something around the process's transport.
  using Body = std::function<core::Status(core::Arbiter&, runtime::Run&)>;
  using Prepare = std::function<core::Status(int process, std::unique_ptr<runtime::Transport>&)>;
  [[nodiscard]] std::vector<core::Status> run(const Body& body,
                                              const Prepare& prepare = nullptr) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Until all processes are here: their threads share LibTorch's generator, so none may run a stage
// while another draws its parameters.
[[nodiscard]] core::Status wait_for_all(runtime::Run& run);

// A chain of `ranks` stages with the memory of 1F1B that runs the backward first, with
// `sequential` ops or not.
[[nodiscard]] std::string chain(int ranks, bool sequential);
// The same with the backward in two halves, in order.
[[nodiscard]] std::string split_chain(int ranks);
// The same with ops that run forwards again, in order.
[[nodiscard]] std::string recomputing_chain(int ranks);
// The same in order, with what a stage keeps for its backward in the host's memory meanwhile: three
// microbatches on the device (of `half` eight) and eight on the host. `way` is one of kOffloadWays.
[[nodiscard]] std::string offloading_chain(int ranks, const std::string& way);
// whole, whose gradient comes to the reload; early, to the backward; both; split; recompute, by an
// op; inline, on the compute engine; half, only every other microbatch.
inline constexpr std::array kOffloadWays = {"whole", "early",     "both",  "split",
                                            "half",  "recompute", "inline"};
// Two stages per rank, as a V.
[[nodiscard]] std::string v(int ranks);

}  // namespace ripeline::testing_support
