// The parts of a run's report: memory by pool, texts gathered from all ranks, and JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/ledger.h"
#include "runtime/run.h"
#include "runtime/torch/torch_work.h"

namespace gpt {

// One text from every rank, by rank.
ripeline::core::Status gather(ripeline::runtime::Run& run, const std::string& mine,
                              std::vector<std::string>& all);

// The most that was held of a pool, beside what was proved.
struct Peak {
  std::string pool;  // activation of stage 2
  int rank = 0;
  std::int64_t proved = 0;  // -1: no bound
  std::int64_t observed = 0;
};
// The peaks of all ranks' pools, from each rank's ledger. Every rank must call it.
ripeline::core::Status gather_peaks(ripeline::runtime::Run& run,
                                    const ripeline::core::ProgramFacts& facts,
                                    const ripeline::core::Ledger& ledger, std::vector<Peak>& peaks);
// `4 3 2 1 proved, 4 2 2 1 observed`, in the pools' order.
[[nodiscard]] std::string text_of(const std::vector<Peak>& peaks);
// `activations held, by stage: ` and that, a line for each resource.
[[nodiscard]] std::vector<std::string> lines_of(const ripeline::core::ProgramFacts& facts,
                                                const std::vector<Peak>& peaks);
[[nodiscard]] std::string json_of(const std::vector<Peak>& peaks);

// The work that the input half of a split backward leaves for the weight half, at a stage.
struct StageDeferral {
  int parameters = 0;      // the stage's
  int deferred = 0;        // parameters whose gradients are left
  std::int64_t bytes = 0;  // gradients that are kept for it: the most of any microbatch
};
// All stages' deferrals in order; empty if the backward is in one piece. Every rank must call it.
ripeline::core::Status gather_deferrals(ripeline::runtime::Run& run,
                                        const ripeline::core::ProgramFacts& facts,
                                        const ripeline::runtime::TorchWork& work,
                                        std::vector<StageDeferral>& stages);
[[nodiscard]] std::string text_of(const std::vector<StageDeferral>& stages);

// `offloaded, by rank, KiB: …` of the stages that offload; empty if none does. Every rank must call
// it.
ripeline::core::Status gather_offloads(ripeline::runtime::Run& run,
                                       const ripeline::runtime::TorchWork& work, std::string& text);

// JSON, enough of it.
[[nodiscard]] std::string json_of(double number);
[[nodiscard]] std::string json_of(const std::string& text);
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace gpt
