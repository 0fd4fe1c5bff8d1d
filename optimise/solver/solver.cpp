#include "optimise/solver/solver.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "optimise/solver/cp_message.h"
#include "optimise/solver/frames.h"
#include "optimise/solver/order_graph.h"
#include "optimise/solver/order_model.h"
#include "process/child.h"

namespace ripeline::optimise {
namespace {

using Clock = std::chrono::steady_clock;
using Status = SolveAnswer::Status;

// The time that the child may take beyond the requested seconds: to start, and to end.
constexpr std::chrono::milliseconds kMoreTime{2000};
constexpr std::chrono::milliseconds kGrace{3000};
constexpr std::size_t kMostOutput = std::size_t{1} << 26U;  // bytes

// The shared library that has this code, such as the module of the Python package; empty if this
// code is part of the program.
std::filesystem::path own_library() {
  Dl_info info = {};
  void* object = nullptr;
  const auto here = reinterpret_cast<const void*>(&own_library);
  if (dladdr1(here, &info, &object, RTLD_DL_LINKMAP) == 0 || object == nullptr) return {};
  return static_cast<const link_map*>(object)->l_name;  // empty for the program
}

// The path of the solver's program: from the environment, or beside this program, or in the folder
// `bin` beside this library.
std::string solver_program() {
  if (const char* const named = std::getenv("RIPELINE_SOLVER")) return named;
  constexpr const char* kName = "ripeline-solver";
  if (const auto library = own_library(); !library.empty()) {
    return (library.parent_path() / "bin" / kName).string();
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / kName).string();
}

bool divides_all(const Model& model, Time scale) {
  for (int task = 0; task < model.tasks(); ++task) {
    if (at(model.takes, task) % scale != 0) return false;
    for (const Model::Arc& arc : model.needs_of(task)) {
      if (arc.lag % scale != 0) return false;
    }
  }
  return true;
}

SolveAnswer unavailable(std::string why) {
  return {.status = Status::unavailable, .why = std::move(why)};
}

// The answer if something went wrong with the child; nullopt if nothing went wrong.
std::optional<SolveAnswer> failure_of(const process::ChildRun& run, const std::string& program,
                                      double seconds, bool was_asked_to_stop) {
  if (run.not_started != 0) {
    return unavailable(fmt::format(
        "ripeline-solver cannot be started ({}: {}); it is installed beside ripeline, and "
        "RIPELINE_SOLVER names another file",
        program, std::strerror(run.not_started)));
  }
  if (run.wrote_too_much) return unavailable("ripeline-solver's answer is too long");
  if (run.was_killed || (run.was_stopped && run.signal == SIGTERM)) {
    if (was_asked_to_stop) return SolveAnswer{.status = Status::unknown};
    return unavailable(
        fmt::format("ripeline-solver gave no answer in {:g} s and was ended", seconds));
  }
  if (run.signal != 0) {
    return unavailable(fmt::format("ripeline-solver was ended by signal {} ({})", run.signal,
                                   strsignal(run.signal)));
  }
  if (run.exit_code == 0) return std::nullopt;
  std::string why = run.errors.substr(0, run.errors.find_last_not_of('\n') + 1);
  if (why.empty()) why = fmt::format("ripeline-solver ended with exit code {}", run.exit_code);
  return unavailable(std::move(why));
}

class Solve {
 public:
  explicit Solve(const SolveRequest& request)
      : request_(request), scale_{std::max<Time>(request.scale, 1), request.rounds_down} {}

  SolveAnswer run() {
    graph_ = OrderGraph::make(request_.model, scale_, request_.hint, request_.is_free);
    if (!graph_) return unavailable("the order to begin with is not legal");
    made_ = order_model(request_.model, *graph_,
                        {request_.objective, request_.entry, request_.bound / scale_.of_one});
    if (request_.hint != nullptr) {
      if (const auto broken = broken_by(made_.program, made_.program.hint)) {
        return unavailable("the order to begin with is not legal: " + *broken);
      }
    }
    SolveAnswer answer = ask();
    return answer;
  }

 private:
  SolveAnswer ask() {
    const std::string program = solver_program();
    const auto time = std::chrono::duration<double>(request_.seconds);
    bool was_asked_to_stop = false;
    const CpParameters parameters{.seconds = request_.seconds,
                                  .workers = request_.proves ? 1 : request_.workers,
                                  .relaxes = !request_.proves,
                                  .seed = request_.seed};
    const std::string input = framed(bytes_of(parameters)) + framed(bytes_of(made_.program));
    // The child gets the id of this process, so that it can check that its parent still runs.
    const process::ChildRun run = process::run_child(
        {.command = {program, std::to_string(getpid())},
         .time = std::chrono::duration_cast<std::chrono::milliseconds>(time) + kMoreTime,
         .grace = kGrace,
         .input = input,
         .most_output = kMostOutput,
         .has_group = true,
         .go_on =
             [&] {
               was_asked_to_stop = was_asked_to_stop || (request_.go_on && !request_.go_on());
               return !was_asked_to_stop;
             },
         .is_abandoned = request_.is_abandoned});
    if (auto failure = failure_of(run, program, request_.seconds, was_asked_to_stop)) {
      return *std::move(failure);
    }
    std::string_view rest = run.output;
    const auto message = next_message(rest);
    const auto response = message && rest.empty() ? response_of(*message) : std::nullopt;
    if (!response) return unavailable("ripeline-solver's answer cannot be read");
    return read(*response);
  }

  SolveAnswer read(const CpResponse& response) {
    switch (response.status) {
      case CpResponse::Status::invalid:
        return unavailable("OR-tools does not accept the problem: " + response.text);
      case CpResponse::Status::infeasible:
        if (request_.hint == nullptr) return {.status = Status::infeasible};
        return unavailable("ripeline-solver's answer is wrong: it says that there is no order");
      case CpResponse::Status::unknown: {
        SolveAnswer answer{.status = Status::unknown};
        set_bound(response.bound, answer);
        return answer;
      }
      case CpResponse::Status::feasible:
      case CpResponse::Status::optimal:
        break;
    }
    if (const auto broken = broken_by(made_.program, response.values)) {
      return unavailable("ripeline-solver's answer is wrong: " + *broken);
    }
    const Time found = at(response.values, made_.program.objective);
    if (!(response.bound <= static_cast<double>(found) + .5)) {
      return unavailable("ripeline-solver's answer is wrong: its bound is above what it found");
    }
    const bool is_optimal = response.status == CpResponse::Status::optimal;
    SolveAnswer answer{.status = is_optimal ? Status::optimal : Status::feasible};
    set_bound(is_optimal ? static_cast<double>(found) : response.bound, answer);
    if (request_.entry >= 0) return answer;
    Rows rows = rows_of(request_.model, *graph_, made_, response.values);
    if (request_.hint != nullptr && found > at(made_.program.hint, made_.program.objective)) {
      rows = *request_.hint;
    }
    if (starts_of(request_.model, rows)) answer.rows = std::move(rows);
    return answer;
  }

  void set_bound(double value, SolveAnswer& answer) const {
    const bool is_exact = divides_all(request_.model, scale_.of_one);
    if (!graph_->has_whole_rows() || request_.model.left_out || !(is_exact || scale_.rounds_down)) {
      return;
    }
    Time bound = request_.bound;
    if (std::isfinite(value) && value > 0) {
      // The objective is a whole number. By span, starts within a unit may save a part of a unit.
      const Time scaled = static_cast<Time>(std::ceil(value - 1e-6));
      const bool may_save =
          request_.objective == Objective::span && request_.entry < 0 && scale_.of_one > 1;
      bound = std::max(bound, may_save ? (scaled - 1) * scale_.of_one + 1 : scaled * scale_.of_one);
    }
    answer.bound = bound;
  }

  const SolveRequest& request_;
  Scale scale_;
  std::optional<OrderGraph> graph_;
  OrderModel made_;
};

}  // namespace

SolveAnswer solve(const SolveRequest& request) {
  const Clock::time_point begin = Clock::now();
  SolveAnswer answer = Solve(request).run();
  answer.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return answer;
}

std::vector<bool> tasks_within(const Model& model, const std::vector<Time>& starts, Time from,
                               Time to) {
  std::vector<bool> within;
  for (int task = 0; task < model.tasks(); ++task) {
    within.push_back(at(starts, task) < to && at(starts, task) + at(model.takes, task) > from);
  }
  return within;
}

}  // namespace ripeline::optimise
