#include "load/megatron.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "spec/library.h"
#include "spec/parse.h"
#include "spec/print.h"

namespace ripeline::load {
namespace {

constexpr std::array kMegatronOptions = {
    MegatronOption{"--pipeline-model-parallel-size", &MegatronOptions::pipeline_model_parallel_size,
                   "ranks"},
    MegatronOption{"--num-layers", &MegatronOptions::num_layers, "layers of the model"},
    MegatronOption{"--num-layers-per-virtual-pipeline-stage",
                   &MegatronOptions::num_layers_per_virtual_pipeline_stage, "layers of a stage"},
    MegatronOption{"--num-virtual-stages-per-pipeline-rank",
                   &MegatronOptions::num_virtual_stages_per_pipeline_rank, "stages of a rank",
                   "--virtual-pipeline-model-parallel-size"},
    MegatronOption{"--microbatch-group-size-per-virtual-pipeline-stage",
                   &MegatronOptions::microbatch_group_size_per_virtual_pipeline_stage,
                   "microbatches of a group (as many as ranks)"},
    MegatronOption{"--decoder-first-pipeline-num-layers",
                   &MegatronOptions::decoder_first_pipeline_num_layers, "layers of the first rank"},
    MegatronOption{"--decoder-last-pipeline-num-layers",
                   &MegatronOptions::decoder_last_pipeline_num_layers, "layers of the last rank"}};

struct Shape {
  std::int64_t ranks = 1;
  std::int64_t chunks = 1;
  std::int64_t group = 1;
  std::int64_t layers = 1;
  std::int64_t first = 1;   // layers of the first rank
  std::int64_t middle = 0;  // layers of each rank between
  std::int64_t last = 1;    // layers of the last rank
};

spec::Result<Shape> refused(std::string sentence) { return spec::failure(std::move(sentence)); }

// Splits the layers among the ranks.
spec::Result<Shape> split(const MegatronOptions& options, Shape shape) {
  const auto& first = options.decoder_first_pipeline_num_layers;
  const auto& last = options.decoder_last_pipeline_num_layers;
  const std::int64_t given = (first ? 1 : 0) + (last ? 1 : 0);
  if (given == 0 && shape.layers % shape.ranks != 0) {
    return refused(fmt::format(
        "--num-layers {}: expected a multiple of --pipeline-model-parallel-size {}; uneven ranks "
        "are said by --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers",
        shape.layers, shape.ranks));
  }
  if (given > 0 && shape.ranks == 1) {
    return refused(
        "--pipeline-model-parallel-size 1: expected 2 or more with "
        "--decoder-first-pipeline-num-layers or --decoder-last-pipeline-num-layers");
  }
  const std::int64_t others = shape.ranks - given;
  const std::int64_t left = shape.layers - first.value_or(0) - last.value_or(0);
  if (left < 0 || (others == 0 ? left != 0 : left % others != 0)) {
    return refused(fmt::format(
        "--num-layers {}: {} layers are left by --decoder-first-pipeline-num-layers and "
        "--decoder-last-pipeline-num-layers; expected {}",
        shape.layers, left,
        others == 0 ? std::string("0, since no rank is left")
                    : fmt::format("a multiple of the {} ranks that are left", others)));
  }
  shape.middle = others == 0 ? 0 : left / others;
  shape.first = first.value_or(shape.middle);
  shape.last = last.value_or(shape.middle);
  return shape;
}

spec::Result<Shape> shape_of(const MegatronOptions& options) {
  if (!options.pipeline_model_parallel_size) {
    return refused("library megatron: --pipeline-model-parallel-size is missing");
  }
  if (!options.num_layers) return refused("library megatron: --num-layers is missing");
  const auto& per_stage = options.num_layers_per_virtual_pipeline_stage;
  const auto& stages = options.num_virtual_stages_per_pipeline_rank;
  if (per_stage && stages) {
    return refused(
        "--num-layers-per-virtual-pipeline-stage and --num-virtual-stages-per-pipeline-rank: "
        "expected one of them");
  }
  const bool uneven =
      options.decoder_first_pipeline_num_layers || options.decoder_last_pipeline_num_layers;
  if (per_stage && uneven) {
    return refused(
        "--num-layers-per-virtual-pipeline-stage: expected --num-virtual-stages-per-pipeline-rank "
        "with --decoder-first-pipeline-num-layers or --decoder-last-pipeline-num-layers");
  }
  auto result = split(
      options, {.ranks = *options.pipeline_model_parallel_size, .layers = *options.num_layers});
  if (!result.ok()) return result;
  Shape shape = result.value();
  shape.group = options.microbatch_group_size_per_virtual_pipeline_stage.value_or(shape.ranks);
  if (!per_stage && !stages) return shape;

  const char* flag = per_stage ? "--num-layers-per-virtual-pipeline-stage"
                               : "--num-virtual-stages-per-pipeline-rank";
  if (shape.ranks == 1) {
    return refused(
        fmt::format("--pipeline-model-parallel-size 1: expected 2 or more with {}", flag));
  }
  if (per_stage && shape.first % *per_stage != 0) {
    return refused(fmt::format("{} {}: expected a divisor of a rank's {} layers", flag, *per_stage,
                               shape.first));
  }
  shape.chunks = per_stage ? shape.first / *per_stage : *stages;
  for (const std::int64_t layers : {shape.first, shape.middle, shape.last}) {
    if (layers % shape.chunks == 0) continue;
    return refused(fmt::format("{} {}: expected a divisor of the layers of each rank, here {}",
                               flag, shape.chunks, layers));
  }
  if (shape.chunks < 2) {
    return refused(fmt::format(
        "{}: expected 2 or more stages on a rank; without the option a rank has one", flag));
  }
  if (shape.group < shape.ranks) {
    return refused(
        fmt::format("--microbatch-group-size-per-virtual-pipeline-stage {}: expected at least "
                    "--pipeline-model-parallel-size {}",
                    shape.group, shape.ranks));
  }
  return shape;
}

std::string heading(const MegatronOptions& options, const Shape& shape) {
  std::string text = "# ripeline library megatron";
  for (const MegatronOption& option : kMegatronOptions) {
    if (const auto& value = options.*option.value)
      text += fmt::format(" {} {}", option.name, *value);
  }
  const bool even = shape.first == shape.last && (shape.ranks < 3 || shape.first == shape.middle);
  const std::string layers =
      even ? fmt::format("{} layers on each", shape.first)
           : fmt::format("{} layers on the first, {}{} on the last", shape.first,
                         shape.ranks > 2 ? fmt::format("{} on each between, ", shape.middle) : "",
                         shape.last);
  if (shape.chunks == 1) {
    return text + fmt::format(
                      "\n# 1F1B on {} ranks: {}. Megatron-LM takes any number of "
                      "microbatches.\n#\n",
                      shape.ranks, layers);
  }
  const std::string taken = shape.group == shape.ranks
                                ? fmt::format("is a multiple of {}", shape.group)
                                : fmt::format("is at least {}, and M mod {} is 0 or at least {}",
                                              shape.group, shape.group, shape.ranks);
  return text + fmt::format(
                    "\n# Interleaved 1F1B on {} ranks of {} stages: {}; microbatches in "
                    "groups of {}. Megatron-LM takes M microbatches\n# if M {}.\n#\n",
                    shape.ranks, shape.chunks, layers, shape.group, taken);
}

}  // namespace

std::span<const MegatronOption> megatron_options() { return kMegatronOptions; }

bool any_given(const MegatronOptions& options) {
  for (const MegatronOption& option : kMegatronOptions) {
    if (options.*option.value) return true;
  }
  return false;
}

spec::Result<std::string> megatron_program(const MegatronOptions& options) {
  const auto shape = shape_of(options);
  if (!shape.ok()) return shape.errors();
  const std::pair<std::string_view, std::int64_t> params[] = {
      {"ranks", shape.value().ranks}, {"chunks", shape.value().chunks},
      {"group", shape.value().group}, {"layers", shape.value().layers},
      {"first", shape.value().first}, {"last", shape.value().last}};
  auto tree = spec::parse({"megatron", spec::library_text("megatron").value()});
  if (!tree.ok()) return tree.errors();
  spec::ast::Pipeline program = std::move(tree).value();
  for (spec::ast::Item& item : program.items) {
    auto* const param = std::get_if<spec::ast::Param>(&item.value);
    if (param == nullptr) continue;
    for (const auto& [name, value] : params) {
      if (param->name.text == name) param->value = spec::Expr::number(value);
    }
  }
  return heading(options, shape.value()) + spec::print(program);
}

}  // namespace ripeline::load
