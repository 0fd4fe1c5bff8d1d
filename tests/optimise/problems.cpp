#include "tests/optimise/problems.h"

#include <cstdlib>
#include <random>
#include <regex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "optimise/placed_model.h"
#include "spec/elaborate.h"
#include "tests/support/random_program.h"

namespace ripeline::optimise {

Posed posed(const std::string& text, int microbatches, double latency, Objective objective) {
  Posed made{.source = {"posed.ripe", text}, .problem = nullptr};
  auto program = spec::compile(made.source);
  if (!program.ok()) throw std::runtime_error(program.errors().front().message);
  simulate::TimingOptions times;
  times.latency = latency;
  auto problem = Problem::make(std::move(program).value(), microbatches, times, objective);
  if (!problem.ok()) throw std::runtime_error(problem.errors().front().message);
  made.problem = std::move(problem).value();
  return made;
}

Posed posed(const Uniform& uniform, Objective objective) {
  const int chunks = chunks_of(uniform);
  PlacedModel model;
  model.placement = chunks == 2 ? pytorch::Placement::v : pytorch::Placement::chain;
  model.chunks = chunks;
  model.ranks = uniform.ranks;
  model.microbatches = uniform.microbatches;
  model.layers.assign(static_cast<std::size_t>(model.stages()), {.forward = {uniform.forward, 1},
                                                                 .input = {uniform.input, 1},
                                                                 .weight = {uniform.weight, 1}});
  model.first_layers = cut(model.layers, model.stages());
  model.memory = {uniform.memory, chunks};
  return posed(program_text(model), uniform.microbatches, static_cast<double>(uniform.latency),
               objective);
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

Drawn drawn(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(n));
  };
  testing_support::RandomProgramOptions options;
  options.links = options.once = options.before = options.engines = options.shares = true;
  options.pairs = options.keeping = options.hints = options.forks = true;
  options.max_chunks = 3;
  Drawn made;
  made.text = testing_support::random_program_text(seed, options);
  // Gives each op a cost that is a number, or differs between stages or microbatches. Programs with
  // a pair get no costs, since a pair must not take less than each of its tasks alone.
  const int kind = made.text.find("pair ") == std::string::npos ? below(4) : 0;
  const std::regex op("( op [^{\n]*\\{)");
  std::string text;
  std::string rest = made.text;
  for (std::smatch found; kind > 0 && std::regex_search(rest, found, op);) {
    const bool once = found.str().find(" once") != std::string::npos;  // the op has no microbatch
    const std::string cost = kind == 1 || (kind == 3 && once) ? std::to_string(1 + below(9))
                             : kind == 2
                                 ? fmt::format("{} + s % {}", 1 + below(9), 1 + below(3))
                                 : fmt::format("{} + m % {} / 3", 1 + below(9), 1 + below(4));
    text += fmt::format("{}{} cost {};", found.prefix().str(), found.str(), cost);
    rest = found.suffix();
  }
  made.text = text + rest;
  const auto program = spec::compile({"random.ripe", made.text});
  if (!program.ok()) throw std::runtime_error(program.errors().front().message + "\n" + made.text);
  const auto& range = program.value().microbatches;
  made.microbatches = range.min + below(range.max.value_or(range.min + 6) - range.min + 1);
  const double latencies[] = {0, 0, .3, 1, 7};
  made.times.latency = latencies[below(5)];
  if (below(3) == 0) {
    made.times.bytes_per_second = 1000;
    made.times.message_bytes = 1 + below(4);
  }
  if (below(4) == 0) made.times.control = below(3);
  return made;
}

testing_support::TinyProblem tiny_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  testing_support::TinyProblem p{.v = between(0, 1) == 1, .ranks = between(1, 3)};
  p.forward = between(1, 5);
  p.input = between(1, 5);
  p.weight = between(1, 5);
  p.latency = between(0, 3);
  p.microbatches = between(1, p.ranks == 1 ? 6 : !p.v ? 10 - 2 * p.ranks : p.ranks == 2 ? 2 : 1);
  p.activation = between(1, 4);
  p.after_input = between(0, 2) == 0 ? p.activation : between(1, static_cast<int>(p.activation));
  p.memory =
      p.activation * (p.v ? 2 : 1) + between(0, 2 * p.ranks * static_cast<int>(p.activation));
  for (int lane = between(0, 1) * (p.v ? 6 : 3) * p.ranks; lane > 0; --lane) {
    p.takes.push_back(between(1, 5));
  }
  return p;
}

std::string text_of(const testing_support::TinyProblem& p) {
  const std::string place = p.v ? fmt::format("stages {}; place s on s < {} ? s : {} - s;",
                                              2 * p.ranks, p.ranks, 2 * p.ranks - 1)
                                : fmt::format("stages {}; place s on s;", p.ranks);
  const std::int64_t given = p.activation - p.after_input;
  const auto releases = [](std::int64_t amount) {
    return amount == 0 ? "" : fmt::format("releases memory {};", amount);
  };
  const auto cost = [&](std::int64_t everywhere, std::size_t op) {
    std::string text;
    for (std::size_t lane = op; lane < p.takes.size(); lane += 3) {
      text += fmt::format("s == {} ? {} : ", lane / 3, p.takes[lane]);
    }
    return text + std::to_string(everywhere);
  };
  return fmt::format(
      "pipeline p {{ microbatches any; {} op F forward {{ cost {}; needs F at prev; acquires "
      "memory {}; }} op I backward input {{ cost {}; needs F at here, I at next; {} }} op W "
      "backward weight {{ cost {}; needs I at here; {} }} resource memory per rank {{ capacity {}; "
      "}} dispatch ready; }}",
      place, cost(p.forward, 0), p.activation, cost(p.input, 1), releases(given), cost(p.weight, 2),
      releases(p.after_input), p.memory);
}

}  // namespace ripeline::optimise
