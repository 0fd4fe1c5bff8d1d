#include "tests/joint/group_program.h"

#include <algorithm>
#include <array>
#include <optional>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/joint/random.h"
#include "tests/support/random_program.h"
#include "verify/group/conditions.h"

namespace ripeline::joint {
namespace {

using spec::Agree;
using spec::Program;

std::optional<Program> compiled(const std::string& text, const spec::ElaborateOptions& options) {
  auto program = spec::compile({"group.ripe", text}, options);
  if (!program.ok() || !program.value().unsupported.empty()) return std::nullopt;
  return std::move(program).value();
}

std::optional<Program> of_library(Random& random, std::string& text) {
  const auto& library = spec::library();
  const spec::LibraryEntry& entry = library[random.below(library.size())];
  text = entry.text;
  spec::ElaborateOptions options;
  options.defines["ranks"] = random.between(2, 3);
  options.defines["microbatches"] = random.between(2, 4);
  auto program = compiled(text, options);
  if (!program || !program->dispatch.in_order || random.one_in(4)) return program;
  options.dispatch = "ready by " + at(program->orders, program->dispatch.order).name;
  return compiled(text, options);
}

// A readiness-first library program in which each stage reduces after its last backward has ended.
std::optional<Program> of_library_that_reduces(Random& random, std::string& text) {
  const auto& library = spec::library();
  text = library[random.below(library.size())].text;
  const bool split = text.find("backward weight") != std::string::npos;
  const std::string last = split ? "W" : "B";
  std::string more = "  op Greduce reduce once on comm { needs " + last + " at here of all; }\n";
  if (random.one_in(2)) more += "  op Ustep user \"step\" once { needs Greduce at here; }\n";
  text.insert(text.rfind("  dispatch"), more);
  spec::ElaborateOptions options;
  options.defines["ranks"] = random.between(2, 3);
  options.defines["microbatches"] = random.between(2, 4);
  auto program = compiled(text, options);
  if (!program || !program->dispatch.in_order) return program;
  options.dispatch = "ready by " + at(program->orders, program->dispatch.order).name;
  return compiled(text, options);
}

std::optional<Program> of_random(Random& random, std::string& text) {
  testing_support::RandomProgramOptions options{
      .max_tasks = 80, .any_count = false, .broken_orders = false};
  options.orders = random.one_in(3);
  options.links = options.once = options.before = options.engines = true;
  options.keeping = options.shares = options.hints = true;
  text = testing_support::random_program_text(random.bits(), options);
  return compiled(text, {});
}

// Draws the number of members, how they agree, and the ops that have collectives.
void make_group(Program& program, Random& random) {
  constexpr std::array kAgree = {Agree::intersection, Agree::intersection, Agree::vote, Agree::vote,
                                 Agree::leader,       Agree::leader,       Agree::none};
  program.tensor_parallel = {.members = random.one_in(3) ? random.between(3, 4) : 2,
                             .agree = kAgree[random.below(kAgree.size())]};
  std::vector<bool> collective(program.ops.size());
  for (std::size_t op = 0; op < collective.size(); ++op) collective[op] = !random.one_in(4);
  for (spec::Lane& lane : program.lanes)
    lane.collectives = collective[static_cast<std::size_t>(lane.op)] ? 1 : 0;
  spec::Hint& hint = program.dispatch.hint;
  const bool may_wait = hint.rule == spec::Hint::Rule::order && program.dispatch.keeps < 0 &&
                        !at(program.orders, hint.order).file;
  if (may_wait && random.one_in(2)) {
    hint.patience = spec::Patience{.forecasts = random.one_in(2), .learns = random.one_in(2)};
  }
  if (hint.patience) program.tensor_parallel.agree = Agree::leader;
}

// Draws the number of replicas and, for a random program, an op that reduces. The op acquires from
// no pool, so its tasks stay startable until they start; and it gets an engine of its own.
void make_replicas(Program& program, Random& random) {
  program.data_parallel.replicas = random.between(2, 3);
  const auto takes = [&](int op) {
    return std::any_of(program.lanes.begin(), program.lanes.end(), [&](const spec::Lane& lane) {
      return lane.op == op && !lane.acquires.empty();
    });
  };
  if (program.dispatch.keeps >= 0) return;
  for (int op = 0; op < size_of(program.ops); ++op) {
    spec::Op& reduce = at(program.ops, op);
    if (takes(op) || (reduce.kind != spec::OpKind::reduce && random.one_in(2))) continue;
    reduce.kind = spec::OpKind::reduce;
    reduce.engine = spec::Engine::comm;
    for (spec::Lane& lane : program.lanes) {
      if (lane.op != op) continue;
      lane.engine = spec::Engine::comm;
      lane.collectives = 0;
    }
  }
}

// Whether an engine that reduces does nothing else, as the language demands, and tasks on it stay
// startable until they start.
bool reduces_well(const Program& program) {
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (!program.reduces(lane)) continue;
    const spec::Lane& own = at(program.lanes, lane);
    if (!own.acquires.empty()) return false;
    for (int other = 0; other < size_of(program.lanes); ++other) {
      const spec::Lane& l = at(program.lanes, other);
      const bool beside = l.rank == own.rank && l.engine == own.engine;
      if (beside && !program.reduces(other)) return false;
    }
  }
  return true;
}

bool is_one_for_groups(const Program& program) {
  if (!program.pairs.empty() || program.lanes.size() > 60 || !reduces_well(program)) return false;
  const verify::GroupConditions conditions(program);
  const auto doubt = conditions.doubt_of_pools();
  return !conditions.turns_that_differ() && (!doubt || doubt->is_open);
}

}  // namespace

GroupProgram draw_group_program(std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15U);
  for (;;) {
    GroupProgram drawn;
    const bool replicas = random.one_in(3);
    auto program = !random.one_in(4) ? of_random(random, drawn.text)
                   : replicas        ? of_library_that_reduces(random, drawn.text)
                                     : of_library(random, drawn.text);
    if (!program) continue;
    make_group(*program, random);
    if (replicas) {
      // Keeps the number of processes small; other runs have members without replicas.
      program->tensor_parallel.members = random.one_in(3) ? 2 : 1;
      make_replicas(*program, random);
    }
    if (!is_one_for_groups(*program)) continue;
    drawn.microbatches = program->microbatches.min;
    drawn.program = std::move(*program);
    return drawn;
  }
}

}  // namespace ripeline::joint
