#include "proptests/torch/drawn_program.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "proptests/seeds.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/random_program.h"

namespace ripeline::proptests {
namespace {

using spec::Program;

constexpr int kMostRanks = 4;
constexpr int kMostMicrobatches = 6;

struct Groups {
  int members = 1;
  int replicas = 1;

  [[nodiscard]] int most_ranks() const {
    return std::min(kMostRanks, kMostProcesses / (members * replicas));
  }
};

template <class T>
const T& pick(const std::vector<T>& from) {
  return from[any_of<std::size_t>(0, from.size())];
}

Program compiled(const std::string& text, const spec::ElaborateOptions& options = {}) {
  const spec::Source source{"drawn.ripe", text};
  spec::Result<Program> result = spec::compile(source, options);
  if (!result.ok()) RC_FAIL(text + spec::render(source, result.errors()));
  return std::move(result).value();
}

DrawnProgram random_program(const Groups& groups) {
  testing_support::RandomProgramOptions options;
  options.max_ranks = groups.most_ranks();
  options.max_microbatches = kMostMicrobatches;
  options.forks = true;
  options.broken_orders = false;
  options.assertions = false;
  options.keeping = true;
  options.engines = true;
  options.mixed = true;
  options.members = groups.members;
  options.replicas = groups.replicas;
  DrawnProgram drawn;
  drawn.source = "random";
  drawn.text = testing_support::random_program_text(any_seed(), options);
  drawn.program = compiled(drawn.text);
  const spec::MicrobatchRange& range = drawn.program.microbatches;
  drawn.microbatches = any_of(range.min, range.max.value_or(kMostMicrobatches) + 1);
  return drawn;
}

// Library schedules that a LibTorch model can run. Chimera is left out: it has two first stages.
std::vector<spec::LibraryEntry> schedules(const Groups& groups) {
  std::vector<spec::LibraryEntry> found;
  for (const spec::LibraryEntry& entry : spec::library()) {
    const bool has_pairs = entry.text.find("\n  pair ") != std::string_view::npos;
    if (entry.name != "chimera" && !(groups.members > 1 && has_pairs)) found.push_back(entry);
  }
  return found;
}

// The dispatch as written, and all others that the program's hints and orders allow.
std::vector<std::string> dispatches_of(const Program& program, const Groups& groups) {
  std::vector<std::string> dispatches = {"", "ready"};
  for (const spec::Hint& hint : program.hints) dispatches.push_back("ready by " + hint.name);
  const bool keeps = program.pairs.empty() && groups.replicas == 1;  // needs one task at a time
  for (const spec::Order& order : program.orders) {
    dispatches.push_back("in order " + order.name);
    dispatches.push_back("ready by " + order.name);
    if (keeps) dispatches.push_back("ready by " + order.name + " keeping " + order.name);
  }
  return dispatches;
}

void insert_before(std::string& text, std::string_view what, const std::string& inserted) {
  const std::size_t at = text.rfind(what);
  if (at != std::string::npos) text.insert(at, inserted);
}

// Adds collectives to all ops, and members to the program. Each op of a schedule has its own line.
void add_members(std::string& text, int members, const std::string& agree) {
  for (std::size_t at = text.find("\n  op "); at != std::string::npos;
       at = text.find("\n  op ", at + 1)) {
    text.insert(text.find(" }\n", at), "  collectives 1;");
  }
  insert_before(text, "  dispatch",
                "  tensor_parallel " + std::to_string(members) + " { agree by " + agree + "; }\n");
}

// Adds replicas, and an op that reduces each stage's gradients. An order lists its tasks last.
void add_replicas(std::string& text, int replicas) {
  const bool splits = text.find("backward weight") != std::string::npos;
  for (std::size_t order = text.find("\n  order "); order != std::string::npos;
       order = text.find("\n  order ", order + 1)) {
    text.insert(text.find("\n  }\n", order),
                "\n    stream reductions = for c in 0 ..< chunks : G@c * 1;\n"
                "    reductions * chunks;");
  }
  insert_before(text, "  dispatch",
                "  data_parallel " + std::to_string(replicas) +
                    ";\n  op G reduce once on comm { needs " + (splits ? "W" : "B") +
                    " at here of all; }\n");
}

DrawnProgram library_program(const Groups& groups) {
  const spec::LibraryEntry entry = pick(schedules(groups));
  DrawnProgram drawn;
  drawn.microbatches = any_of(1, kMostMicrobatches + 1);
  drawn.text = entry.text;
  spec::ElaborateOptions options;
  options.defines["ranks"] = any_of(1, groups.most_ranks() + 1);
  options.defines["microbatches"] = drawn.microbatches;
  options.dispatch = pick(dispatches_of(compiled(drawn.text, options), groups));
  drawn.source = std::string(entry.name) + ' ' + options.dispatch;
  if (groups.members > 1) {
    const spec::Dispatch dispatch = compiled(drawn.text, options).dispatch;
    std::vector<std::string> ways = {"leader"};  // the only one with which a hint may wait
    if (!dispatch.hint.patience) ways.insert(ways.end(), {"intersection", "vote"});
    if (dispatch.in_order) ways.emplace_back("none");
    add_members(drawn.text, groups.members, pick(ways));
  }
  if (groups.replicas > 1) add_replicas(drawn.text, groups.replicas);
  drawn.program = compiled(drawn.text, options);
  for (const auto& [name, value] : options.defines) {
    drawn.text += "-D " + name + "=" + std::to_string(value) + ' ';
  }
  if (!options.dispatch.empty()) drawn.text += "--dispatch \"" + options.dispatch + '"';
  return drawn;
}

}  // namespace

DrawnProgram draw_program() {
  Groups groups;
  groups.members = pick<int>({1, 1, 2, 4});
  groups.replicas = pick<int>({1, 1, 2});
  return any_of(0, 5) == 0 ? library_program(groups) : random_program(groups);
}

}  // namespace ripeline::proptests
