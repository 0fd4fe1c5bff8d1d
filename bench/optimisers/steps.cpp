#include "bench/optimisers/steps.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "emulate/emulate.h"
#include "files/new_file.h"
#include "lower/facts.h"
#include "pytorch/lower.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "simulate/timing.h"
#include "spec/elaborate.h"
#include "spec/indexing.h"

namespace ripeline::bench {
namespace {

using pytorch::Action;
using pytorch::ActionKind;

constexpr std::int64_t kStep = 2'000'000;  // nanoseconds of an emulated step

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("in steps: " + what); }

std::string op_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::send_forward:
      return "SF";
    case ActionKind::receive_forward:
      return "RF";
    case ActionKind::send_backward:
      return "SB";
    case ActionKind::receive_backward:
      return "RB";
    default:
      return pytorch::name_of(kind);
  }
}

bool is_backward(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::backward_input;
}

// An expression over s: 1 if stage s + `by` is on another rank than stage s, else 0.
std::string crosses(const pytorch::StageMap& map, int by) {
  std::string text;
  for (int s = 0; s < map.stages(); ++s) {
    const int other = s + by;
    const bool same = other < 0 || other >= map.stages() || map.rank(other) == map.rank(s);
    if (same) text += fmt::format("s == {} ? 0 : ", s);
  }
  return text + "1";
}

// The tasks of a rank. Where PyTorch leaves out a task's receive, one that takes no time is added.
std::string row_text(const pytorch::ExportedActions& order, const pytorch::LoadedSchedule& all,
                     int rank) {
  std::vector<int> stages;
  for (int s = 0; s < order.map.stages(); ++s) {
    if (order.map.rank(s) == rank) stages.push_back(s);
  }
  std::vector<std::string> tasks;
  const auto add = [&](const std::string& op, int stage) {
    const auto chunk = std::find(stages.begin(), stages.end(), stage) - stages.begin();
    tasks.push_back(fmt::format("{}@{}", op, chunk));
  };
  const auto is_received = [&](int stage, int from) {
    return from >= 0 && from < order.map.stages() && order.map.rank(from) != rank &&
           order.map.rank(stage) == rank;
  };
  for (const pytorch::ActionCell& cell : at(all.table.rows, rank)) {
    for (const Action& action : cell.actions) {
      if (!pytorch::has_microbatch(action.kind)) continue;  // other actions take no step
      const int stage = action.stage;
      if (action.kind == ActionKind::forward && !is_received(stage, stage - 1)) add("RF", stage);
      if (is_backward(action.kind) && !is_received(stage, stage + 1)) add("RB", stage);
      add(op_of(action.kind), stage);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t end = i;
    while (end < tasks.size() && tasks[end] == tasks[i]) ++end;
    text += end - i == 1 ? tasks[i] + "; " : fmt::format("{} * {}; ", tasks[i], end - i);
    i = end;
  }
  return text;
}

bool has(const pytorch::ActionTable& table, ActionKind kind) {
  for (const auto& row : table.rows) {
    for (const pytorch::ActionCell& cell : row) {
      for (const Action& action : cell.actions) {
        if (action.kind == kind) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string steps_program(const pytorch::ExportedActions& order, int microbatches) {
  const pytorch::StageMap& map = order.map;
  const pytorch::LoadedSchedule all = pytorch::as_loaded(order.table, map, microbatches);
  if (!all.stuck.empty()) fail("PyTorch cannot add messages to an order");
  const bool split = has(order.table, ActionKind::backward_input);
  if (split && has(order.table, ActionKind::backward)) fail("an order has both I and B");
  const std::string backward = split ? "I" : "B";
  std::string place = fmt::format("{}", map.rank(map.stages() - 1));
  for (int s = map.stages() - 2; s >= 0; --s) {
    place = fmt::format("s == {} ? {} : {}", s, map.rank(s), place);
  }
  std::string text =
      fmt::format("pipeline steps {{\nmicrobatches {};\nstages {};\nplace s on {};\n", microbatches,
                  map.stages(), place);
  text += fmt::format("op RF user \"receive\" {{ cost {}; needs F at prev; }}\n", crosses(map, -1));
  text += "op F forward { needs RF at here; }\n";
  text += fmt::format("op SF user \"send\" when {} {{ needs F at here; }}\n", crosses(map, 1));
  text += fmt::format("op RB user \"receive\" {{ cost {}; needs {} at next; }}\n", crosses(map, 1),
                      backward);
  text += fmt::format("op {} backward{} {{ needs F at here, RB at here; }}\n", backward,
                      split ? " input" : "");
  text += fmt::format("op SB user \"send\" when {} {{ needs {} at here; }}\n", crosses(map, -1),
                      backward);
  if (split) text += "op W backward weight { needs I at here; }\n";
  text += "order steps on r {\n";
  for (int rank = 0; rank < map.ranks; ++rank) {
    text += fmt::format("rank {} {{ {}}}\n", rank, row_text(order, all, rank));
  }
  return text + "}\ndispatch in order steps;\n}\n";
}

Steps steps_of(const pytorch::ExportedActions& order, int microbatches) {
  const auto compiled = spec::compile({"steps", steps_program(order, microbatches)}, {});
  if (!compiled.ok()) fail(compiled.errors().front().message);
  const spec::Program& program = compiled.value();
  const core::OwnedFacts owned = lower::facts_of(program);
  const core::ProgramFacts& facts = owned.facts();
  const auto make_arbiter = [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, facts, rank);
  };
  simulate::TimingOptions options;
  options.latency = 0;
  options.clock = kStep;
  simulate::Timing timing;
  if (const core::Status s = simulate::Timing::make(program, microbatches, options, timing);
      !s.ok()) {
    fail(s.message());
  }
  const simulate::RunReport simulated =
      simulate::Simulator(facts, make_arbiter).run(microbatches, timing, {});
  if (!simulated.status.ok()) fail(simulated.status.message());
  const emulate::EmulatedRun emulated =
      emulate::emulate(facts, make_arbiter, microbatches, timing, {});
  if (!emulated.run.status.ok()) fail(emulated.run.status.message());
  const auto unit = static_cast<double>(timing.unit().nanoseconds);
  return {
      .simulated = static_cast<int>(static_cast<double>(simulated.makespan.count()) / unit + .5),
      .emulated = static_cast<double>(emulated.run.makespan.count()) / unit,
      .pytorch = std::nullopt};
}

std::optional<std::vector<int>> pytorch_steps(const std::string& python,
                                              const std::vector<StepsOrder>& orders) {
  std::string name = (std::filesystem::temp_directory_path() / "ripeline_steps.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("no temporary folder can be made");
  const std::filesystem::path folder = name;
  const auto write = [&](const std::string& file, const std::string& text) {
    const core::Status written = files::write_file((folder / file).string(), text);
    if (!written.ok()) fail(written.message());
  };
  std::string list;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const pytorch::ExportedActions& order = *orders[i].order;
    const std::string file = fmt::format("{}.csv", i);
    write(file, pytorch::write_actions(order.table));
    list += fmt::format("{} {} {} {} {}\n", order.map.ranks, orders[i].microbatches,
                        order.map.stages() / order.map.ranks, pytorch::name_of(order.placement),
                        (folder / file).string());
  }
  write("list", list);
  const std::string command =
      fmt::format("env -u RIPELINE_PYTORCH '{}' '{}/bench/optimisers/pytorch_steps.py' '{}/list'",
                  python, RIPELINE_SOURCE_DIR, folder.string());
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail(python + " cannot be run");
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  const int status = pclose(pipe);
  std::filesystem::remove_all(folder);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) return std::nullopt;
  std::istringstream numbers(text);
  std::vector<int> steps;
  for (int n = 0; numbers >> n;) steps.push_back(n);
  if (status != 0 || steps.size() != orders.size()) fail(python + " did not count the steps");
  return steps;
}

}  // namespace ripeline::bench
