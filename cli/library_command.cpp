// ripeline library: the built-in schedules, and orders made for given costs.
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/megatron.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
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
constexpr std::int64_t kMostTasks = 4'000'000;  // of an order; and the largest cost

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

std::string costs_expected() {
  return fmt::format(
      "expected F,I,W,LATENCY: three integers above 0 and one of 0 or more, each at most {}",
      kMostTasks);
}

void list() {
  for (const auto& entry : spec::library()) {
    std::cout << fmt::format("{:<16} {}\n", entry.name, entry.summary);
  }
  std::cout << fmt::format("{:<16} {}\n", kMade, kMadeSummary);
}

std::string percent(std::int64_t bubble, std::int64_t all) {
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(bubble) / static_cast<double>(all));
}

std::string said(const LibraryCommand& command, int microbatches,
                 const spec::ZeroBubbleOrder& order) {
  const std::int64_t span = order.span - order.work;
  const std::int64_t wall = order.wall - order.work;
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
  const auto count = one_count(command.microbatches);
  if (!count.ok()) return say_failed(count.errors());
  const int microbatches = count.value().value_or(kUsualMicrobatches);
  const bool v = command.placement == "v";
  const std::int64_t chunks = v ? 2 : 1;
  if (!sensible || *std::max_element(costs.begin(), costs.end()) > kMostTasks) {
    return say_failed("--costs: " + costs_expected());
  }
  if (command.output.empty() || 3 * chunks * command.ranks * microbatches > kMostTasks) {
    std::cerr << (command.output.empty() ? "ripeline: library zb: -o FILE is missing\n"
                                         : "ripeline: library zb: too many tasks\n");
    return bad_input;
  }
  const spec::ZeroBubbleRequest request{
      .placement = v ? spec::Placement::v : spec::Placement::chain,
      .ranks = command.ranks,
      .microbatches = microbatches,
      .forward = costs[0],
      .input = costs[1],
      .weight = costs[2],
      .latency = costs[3],
      .memory = command.memory > 0 ? command.memory : static_cast<int>(chunks) * command.ranks};
  const auto order = [&] {
    const Progress progress("making an order");
    return spec::zero_bubble_order(request);
  }();
  if (!order) {
    std::cerr << fmt::format(
        "ripeline: no order was found that holds at most {} activations on {} ranks\n",
        request.memory, request.ranks);
    return unknown;
  }
  const auto written = write_file(command.output, spec::write_actions(order->table));
  if (!written.ok()) return say_failed(written.errors());
  (command.output == "-" ? std::cerr : std::cout) << said(command, microbatches, *order);
  return ok;
}

// The program, to -o or to standard output.
int print(const LibraryCommand& command, const std::string& text) {
  const auto written = write_file(command.output.empty() ? "-" : command.output, text);
  return written.ok() ? ok : say_failed(written.errors());
}

int megatron(const LibraryCommand& command) {
  if (command.name != "megatron") {
    return say_failed("options of Megatron-LM: expected `ripeline library megatron`");
  }
  const auto text = megatron_program(command.megatron);
  if (!text.ok()) return say_failed(text.errors());
  return print(command, text.value());
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
    if (!command.output.empty()) return say_failed("-o: expected the NAME of what to write");
    list();
    return ok;
  }
  if (command.name == kMade) return make(command);
  if (const auto text = spec::library_text(command.name)) return print(command, *text);
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
  command->add_option("--ranks", options->ranks, of + "ranks")->check(integer_from(1, 1024));
  add_microbatches(*command, options->microbatches, of + "microbatches of a step (8)");
  command
      ->add_option("--costs", options->costs,
                   of + "costs of F, I and W of a stage, and the latency of a message")
      ->type_name("F,I,W,C")
      ->delimiter(',')
      ->check([](const std::string& text) {
        return integer_in(text) ? std::string()
                                : fmt::format(
                                      "{}, and found '{}'; 10,11,11,0.8 is "
                                      "100,110,110,8 in tenths",
                                      costs_expected(), text);
      });
  command
      ->add_option("--memory", options->memory,
                   of + "a rank's room, in activations of one stage, over its stages: twice as "
                        "many as `compare --memory` has where a rank has two (default: ranks, "
                        "times the rank's stages)")
      ->check(integer_from(1));
  command->add_option("-o", options->output,
                      "the file to write, or - for standard output, where programs go without it");
  for (const char* name : {"--placement", "--ranks", "-m", "--costs", "--memory"}) {
    options->of_made.push_back(command->get_option(name));
  }
  add_megatron_options(*command, options->megatron);
  command->footer(
      "Examples\n"
      "  ripeline library                      the list\n"
      "  ripeline library zb_v -o mine.ripe    one of them, to change\n"
      "  ripeline library zb --ranks 8 -m 32 --costs 24,23,12,1 --memory 8 -o order.csv\n"
      "  ripeline library megatron --pipeline-model-parallel-size 8 --num-layers 64 \\\n"
      "      --num-layers-per-virtual-pipeline-stage 4 -o megatron.ripe\n"
      "Exit codes: 0 done, 2 bad input, 3 zb found no order within the memory.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
