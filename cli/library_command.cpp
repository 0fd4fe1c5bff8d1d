// ripeline library: the built-in schedules, and orders made for given costs.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/megatron.h"
#include "cli/microbatch_flag.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "optimise/zero_bubble.h"
#include "pytorch/csv/actions.h"
#include "spec/library.h"

namespace ripeline::cli {
namespace {

// What is made rather than printed.
constexpr const char* kMade = "zb";
constexpr const char* kMadeSummary =
    "A fixed order of F, I and W for given costs and memory, written as a CSV file: --ranks, -m, "
    "--costs, --memory, -o.";

constexpr int kUsualMicrobatches = 8;

struct LibraryCommand {
  std::string name;
  std::string placement = "chain";
  int ranks = 4;
  std::optional<Counts> microbatches;
  std::vector<std::int64_t> costs = {1, 1, 1, 0};
  int memory = 0;  // 0: what 1F1B holds
  std::string output;
  std::vector<const CLI::Option*> of_made;  // the flags of kMade
  MegatronOptions megatron;
};

void list() {
  for (const auto& entry : spec::library()) {
    std::cout << fmt::format("{:<16} {}\n", entry.name, entry.summary);
  }
  std::cout << fmt::format("{:<16} {}\n", kMade, kMadeSummary);
}

std::string percent(std::int64_t bubble, std::int64_t all) {
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(bubble) / static_cast<double>(all));
}

std::string said(const LibraryCommand& command, int microbatches, std::int64_t work,
                 const optimise::FoundOrder& order) {
  const std::int64_t span = order.span - work;
  const std::int64_t wall = order.wall - work;
  return fmt::format(
      "{0}: {1} ranks, {2} microbatches, placement {3}\n"
      "at most {4} activations of a stage on a rank; bubble {5} by span ({6}), {7} by wall ({8})\n"
      "check it with  ripeline check {0} --placement {3}\n"
      "use it with    order zb from csv \"{0}\";  dispatch in order zb;\n",
      command.output, command.ranks, microbatches, command.placement, order.peak, span,
      percent(span, order.span), wall, percent(wall, order.wall));
}

int make(const LibraryCommand& command) {
  const auto positive = [](std::int64_t cost) { return cost > 0; };
  const std::vector<std::int64_t>& costs = command.costs;
  const bool sensible = costs.size() == 4 && positive(costs[0]) && positive(costs[1]) &&
                        positive(costs[2]) && costs[3] >= 0;
  constexpr std::int64_t kMostTasks = 4'000'000;
  const auto count = one_count(command.microbatches);
  if (!count.ok()) return say_failed(count.errors());
  const int microbatches = count.value().value_or(kUsualMicrobatches);
  const bool v = command.placement == "v";
  const std::int64_t chunks = v ? 2 : 1;
  if (!sensible || *std::max_element(costs.begin(), costs.end()) > kMostTasks) {
    std::cerr << "ripeline: --costs: expected F,I,W,LATENCY: three integers above 0 and one of 0 "
                 "or more, each at most "
              << kMostTasks << '\n';
    return bad_input;
  }
  if (command.output.empty() || 3 * chunks * command.ranks * microbatches > kMostTasks) {
    std::cerr << (command.output.empty() ? "ripeline: library zb: -o FILE is missing\n"
                                         : "ripeline: library zb: too many tasks\n");
    return bad_input;
  }
  const optimise::Uniform uniform{
      .placement = v ? spec::Placement::v : spec::Placement::chain,
      .ranks = command.ranks,
      .microbatches = microbatches,
      .forward = costs[0],
      .input = costs[1],
      .weight = costs[2],
      .latency = costs[3],
      .memory = command.memory > 0 ? command.memory : static_cast<int>(chunks) * command.ranks};
  const std::int64_t work = chunks * microbatches * (costs[0] + costs[1] + costs[2]);
  std::optional<optimise::FoundOrder> order;
  {
    const Progress progress("making an order");
    const std::int64_t last_begins = (uniform.ranks - 1) * (uniform.forward + uniform.latency);
    const auto is_perfect = [&] {
      return order && order->span == work && order->wall == work + last_begins;
    };
    optimise::Incumbent incumbent(
        optimise::Objective::span, 0, [&] { return !is_perfect(); },
        [&](const optimise::FoundOrder& found, std::string_view) { order = found; });
    optimise::zero_bubble_search(uniform, incumbent);
  }
  if (!order) {
    std::cerr << fmt::format(
        "ripeline: no order was found that holds at most {} activations on {} ranks\n",
        uniform.memory, uniform.ranks);
    return unknown;
  }
  spec::ActionTable table;
  for (const std::vector<spec::Action>& row : order->rows) {
    table.rows.emplace_back();
    for (const spec::Action& action : row) table.rows.back().push_back({.actions = {action}});
  }
  const auto written = write_file(command.output, spec::write_actions(table));
  if (!written.ok()) return say_failed(written.errors());
  (command.output == "-" ? std::cerr : std::cout) << said(command, microbatches, work, *order);
  return ok;
}

int megatron(const LibraryCommand& command) {
  if (command.name != "megatron") {
    return say_failed("options of Megatron-LM: expected `ripeline library megatron`");
  }
  const auto text = megatron_program(command.megatron);
  if (!text.ok()) return say_failed(text.errors());
  std::cout << text.value();
  return ok;
}

// The flags of what is made say nothing of what is printed.
spec::Result<void> check_flags(const LibraryCommand& command) {
  if (command.name == kMade) return {};
  for (const CLI::Option* option : command.of_made) {
    if (option->count() == 0) continue;
    return failure(fmt::format(
        "{}: this is a flag of `ripeline library {}`{}", option->get_name(), kMade,
        command.name.empty() ? ""
                             : fmt::format("; {} is printed as it is, and `-D` sets its params in "
                                           "the commands that read it",
                                           command.name)));
  }
  return {};
}

int run(const LibraryCommand& command) {
  if (const auto flags = check_flags(command); !flags.ok()) return say_failed(flags.errors());
  if (any_given(command.megatron)) return megatron(command);
  if (command.name.empty()) {
    list();
    return ok;
  }
  if (command.name == kMade) return make(command);
  if (const auto text = spec::library_text(command.name)) {
    std::cout << *text;
    return ok;
  }
  std::vector<std::string> names;
  for (const auto& entry : spec::library()) names.emplace_back(entry.name);
  names.emplace_back(kMade);
  const auto meant = spec::nearest(command.name, names);
  return say_failed(fmt::format("no library schedule is called '{}'{}", command.name,
                                meant ? ". Did you mean " + *meant + "?"
                                      : fmt::format("; there are: {}", fmt::join(names, ", "))));
}

}  // namespace

void add_library(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "library",
      "list the built-in schedules, print one, make an order for given costs (zb), or print what "
      "Megatron-LM runs with given options (megatron)");
  auto options = std::make_shared<LibraryCommand>();
  command->add_option("NAME", options->name, "the schedule to print, or zb");
  const std::string of = "of zb: ";
  command->add_option("--placement", options->placement, of + "chain (default) or v")
      ->check(CLI::IsMember({"chain", "v"}));
  command->add_option("--ranks", options->ranks, of + "ranks")->check(CLI::Range(1, 1024));
  add_microbatches(*command, options->microbatches, of + "microbatches of a step (8)");
  command
      ->add_option("--costs", options->costs,
                   of + "costs of F, I and W of a stage, and the latency of a message")
      ->type_name("F,I,W,C")
      ->delimiter(',');
  command
      ->add_option("--memory", options->memory,
                   of + "activations of a stage that a rank may hold (default: as many as there "
                        "are ranks, times the rank's stages)")
      ->check(CLI::PositiveNumber);
  command->add_option("-o", options->output, of + "the CSV to write, or - for standard output");
  for (const char* name : {"--placement", "--ranks", "-m", "--costs", "--memory", "-o"}) {
    options->of_made.push_back(command->get_option(name));
  }
  add_megatron_options(*command, options->megatron);
  command->footer(
      "Examples\n"
      "  ripeline library                      the list\n"
      "  ripeline library zb_v > mine.ripe     one of them, to change\n"
      "  ripeline library zb --ranks 8 -m 32 --costs 24,23,12,1 --memory 8 -o order.csv\n"
      "  ripeline library megatron --pipeline-model-parallel-size 8 --num-layers 64 \\\n"
      "      --num-layers-per-virtual-pipeline-stage 4 > megatron.ripe\n"
      "Exit codes: 0 done, 2 bad input, 3 zb found no order within the memory.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
