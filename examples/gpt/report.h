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

// Gathers one text from every rank; `all` is in rank order.
ripeline::core::Status gather(ripeline::runtime::Run& run, const std::string& mine,
                              std::vector<std::string>& all);

// The proved and the observed peak of a pool.
struct Peak {
  std::string pool;  // such as `activation of stage 2`
  int rank = 0;
  std::int64_t proved = 0;  // -1 if there is no bound
  std::int64_t observed = 0;
};
// Gathers the peaks of all ranks' pools from the ledgers. All ranks must call this.
ripeline::core::Status gather_peaks(ripeline::runtime::Run& run,
                                    const ripeline::core::ProgramFacts& facts,
                                    const ripeline::core::Ledger& ledger, std::vector<Peak>& peaks);
// The peaks as `4 3 2 1 proved, 4 2 2 1 observed`, in the pools' order.
[[nodiscard]] std::string text_of(const std::vector<Peak>& peaks);
// A line for each resource: `activations held, by stage: ` and the text of its peaks.
[[nodiscard]] std::vector<std::string> lines_of(const ripeline::core::ProgramFacts& facts,
                                                const std::vector<Peak>& peaks);
[[nodiscard]] std::string json_of(const std::vector<Peak>& peaks);

// The work that the input half of a split backward leaves for the weight half, at a stage.
struct StageDeferral {
  int parameters = 0;      // the number of the stage's parameters
  int deferred = 0;        // the number of parameters whose gradients are left
  std::int64_t bytes = 0;  // the largest size of the gradients kept for a microbatch
};
// Gathers all stages' deferrals, in order; empty if backwards are whole. All ranks must call this.
ripeline::core::Status gather_deferrals(ripeline::runtime::Run& run,
                                        const ripeline::core::ProgramFacts& facts,
                                        const ripeline::runtime::TorchWork& work,
                                        std::vector<StageDeferral>& stages);
[[nodiscard]] std::string text_of(const std::vector<StageDeferral>& stages);

// Gathers a line `offloaded, by rank, KiB: …`; empty if no stage offloads. All ranks must call
// this.
ripeline::core::Status gather_offloads(ripeline::runtime::Run& run,
                                       const ripeline::runtime::TorchWork& work, std::string& text);

// A value as JSON.
[[nodiscard]] std::string json_of(double number);
[[nodiscard]] std::string json_of(const std::string& text);
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace gpt
