// Megatron-LM's options as a program: spec/library/megatron.ripe with its params set.
//
// The rules are those of Megatron-LM's source. megatron/core/pipeline_parallel/schedules.py (read
// at commit 00611e6e) has the order and the counts of microbatches; validate_args(),
// TransformerConfig.__post_init__() and get_num_layers_to_build() say which combinations exist. The
// number of a rank's virtual stages has another name in Megatron Core's and NeMo's configurations;
// that name is accepted too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "spec/diagnostics.h"

namespace ripeline::load {

// The options by Megatron-LM's names; nullopt if an option is not given. Each is from 1 to
// kMostOfMegatron.
inline constexpr std::int64_t kMostOfMegatron = 1'000'000;
struct MegatronOptions {
  std::optional<std::int64_t> pipeline_model_parallel_size;
  std::optional<std::int64_t> num_layers;
  std::optional<std::int64_t> num_layers_per_virtual_pipeline_stage;
  std::optional<std::int64_t> num_virtual_stages_per_pipeline_rank;
  std::optional<std::int64_t> microbatch_group_size_per_virtual_pipeline_stage;
  std::optional<std::int64_t> decoder_first_pipeline_num_layers;
  std::optional<std::int64_t> decoder_last_pipeline_num_layers;
};

struct MegatronOption {
  const char* name;  // with its two hyphens
  std::optional<std::int64_t> MegatronOptions::*value;
  const char* help;
  const char* other_name = "";  // another accepted name; empty if there is none
};
[[nodiscard]] std::span<const MegatronOption> megatron_options();
[[nodiscard]] bool any_given(const MegatronOptions& options);

// The program's text, with comments that show the command and its meaning. Fails for a combination
// that Megatron-LM refuses or that has no such program; the error names option and expectation.
[[nodiscard]] spec::Result<std::string> megatron_program(const MegatronOptions& options);

}  // namespace ripeline::load
