#include "codegen/arbiter_class.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/admission.h"
#include "codegen/order_text.h"
#include "codegen/outline.h"
#include "codegen/places.h"
#include "codegen/printer.h"
#include "codegen/priority_text.h"
#include "codegen/rules.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// Taking a place of the rounds makes the next one first, and a fill ends its round.
std::string rounds_taken(const Program& program) {
  if (!has_rounds(program)) return "";
  ByOp statements(program.ops.size());
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    const std::string turn = turn_of(program, op);
    if (!turn.empty()) statements[static_cast<std::size_t>(op)].push_back(turn);
  }
  return by_op(program, "task.lane", statements);
}

// What begins anew with each step.
std::string step_state(const Outline& outline) {
  const Program& program = outline.program;
  std::vector<std::string> members;
  if (!outline.engines) members.push_back("bool idle = true;");
  if (has_rounds(program)) {
    members.push_back(fmt::format("int round = 0;  // the entry of hint {} to try first",
                                  program.dispatch.hint.name));
  }
  if (priority_reads_count(outline)) members.push_back("int microbatches = 0;");
  if (has_guards(outline)) {
    members.push_back(
        fmt::format("std::int64_t held[{}] = {{}};  // by pool", program.pools.size()));
  }
  return lines(members);
}

std::string sequential_ops(const Program& program) {
  std::vector<std::string> ops;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    if (at(program.ops, op).sequential) ops.push_back(op_constant(program, op));
  }
  return ops.empty() ? "" : fmt::format(", {{{}}}", fmt::join(ops, ", "));
}

// The lane of `op` at a chunk. Where every rank has every op at every chunk its number is computed.
std::string lane_at(const Outline& outline, const std::string& chunk) {
  if (outline.gaps) return fmt::format("rows_.lane(op, {})", chunk);
  if (outline.chunks == 1) return "rows_.first_lane() + op";
  return fmt::format("rows_.first_lane() + {} * ({}) + op", outline.program.ops.size(), chunk);
}

// Whether there is room for a task of `lane`.
std::string room_check(const Outline& outline) {
  return has_kept_order(outline) ? "is_admitted(lane)" : "has_room(lane, step_.held)";
}

// Whether `lane` has room, and its engine takes it; `exists`: and whether there is one.
std::vector<std::string> offer_checks(const Outline& outline, bool exists) {
  const bool guarded = has_guards(outline);
  std::vector<std::string> checks;
  if (outline.gaps && (guarded || outline.engines || exists)) checks.push_back("lane >= 0");
  if (outline.engines) checks.push_back("engines_.takes(engine, lane)");
  if (guarded) checks.push_back(room_check(outline));
  return checks;
}

// Of `op`, in the order of the ties: the lane of turn i.
std::string lane_of_turn(const Outline& outline) {
  return lane_at(outline,
                 outline.chunks == 1 ? "0" : fmt::format("up ? i : {} - i", outline.chunks - 1));
}

// What offers an op's task, and a lane's. In a committed order there is nothing to offer.
std::vector<std::string> offers(const Outline& outline) {
  const bool by_lane = dispatched_order(outline.program) >= 0 || outline.chunks > 1;
  std::vector<std::string> texts;
  const std::vector<std::string> checks = offer_checks(outline, false);
  const std::string lane_offer =
      checks.empty()
          ? "rows_.offer(lane, allowed)"
          : fmt::format("{}{}rows_.offer(lane, allowed) : core::Choice{{}}",
                        fmt::join(checks, " && "), outline.engines ? "\n           ? " : " ? ");
  const std::string parameters = offer_parameters(outline);
  const std::string arguments = offer_arguments(outline);
  if (by_lane) {
    texts.push_back(fill(R"(// The lowest microbatch of `lane` that may start and is allowed.
[[nodiscard]] core::Choice offer_lane(core::LaneId lane, $parameters$) const {
  return $offer$;
})",
                         {{"parameters", parameters}, {"offer", lane_offer}}));
  }
  if (outline.chunks == 1) {
    const std::string lane = lane_at(outline, "0");
    texts.push_back(fill(R"(// The lowest microbatch of `op` that may start and is allowed.
[[nodiscard]] core::Choice offer(int op, $parameters$) const {
  $body$
})",
                         {{"parameters", parameters},
                          {"body", by_lane ? "return offer_lane(" + lane + ", " + arguments + ");"
                                           : "const core::LaneId lane = " + lane + ";\nreturn " +
                                                 lane_offer + ";"}}));
  } else {
    const std::string lane = lane_of_turn(outline);
    texts.push_back(fill(
        R"(// The lowest microbatch of `op` that may start and is allowed: of a forward at the lower chunk,
// else at the higher.
[[nodiscard]] core::Choice offer(int op, $parameters$) const {
  const bool up = kOps[op].kind == core::OpKind::forward;
  for (int i = 0; i < $chunks$; ++i) {
    const core::LaneId lane = $lane$;
    if (const core::Choice c = offer_lane(lane, $arguments$); c.starts()) return c;
  }
  return {};
})",
        {{"parameters", parameters},
         {"arguments", arguments},
         {"chunks", std::to_string(outline.chunks)},
         {"lane", lane}}));
    if (std::string text = offer_unlisted(outline, lane); !text.empty()) texts.push_back(text);
  }
  return texts;
}

std::string is_admitted(const Outline& outline) {
  const spec::Program& program = outline.program;
  return fill(
      R"(// Whether there is room for a task of `lane`, and then for what order $order$ lists before it.
[[nodiscard]] bool is_admitted(core::LaneId lane) const {
  return has_room(lane, step_.held) &&
         kept_.admits(lane, [this](int pool) { return step_.held[pool]; });
})",
      {{"order", at(program.orders, program.dispatch.keeps).name}});
}

constexpr const char* kNotices = R"(

void expect(const core::Costs& costs) override { patience_.expect(costs); }
void on_notice(const core::Notice& notice, core::Time now) override {
  patience_.noticed(notice, now);
}
void take_notices(core::Time now, std::vector<core::Notice>& out) override {
  patience_.take_notices(now, out);
})";

const char* is_busy(const Outline& outline) {
  return outline.engines ? "!engines_.may_take(engine)"
                         : "engine != core::Engine::compute || !step_.idle";
}

// ready() and choose() of readiness-first dispatch.
std::string free_dispatch(const Outline& outline) {
  std::vector<std::string> checks;
  if (outline.engines) checks.push_back("engines_.takes(engine, lane)");
  if (has_guards(outline)) checks.push_back(room_check(outline));
  const std::string ready =
      checks.empty()
          ? "out = rows_.tasks();"
          : fill(
                "for (core::LaneId lane = rows_.first_lane(); lane < rows_.end_lane(); ++lane) {\n"
                "  if ($checks$)$line$out.row(lane) = rows_.tasks().row(lane);\n"
                "}",
                {{"checks", fmt::format("{}", fmt::join(checks, " && "))},
                 {"line", checks.size() > 1 ? "\n    " : " "}});
  const bool waits = has_patience(outline.program);
  return fill(
      R"(void ready(core::Engine engine, core::TaskSet& out) const override {
  rows_.reset(out);
  if ($busy$) return;
  $ready$
}

// $hint$
[[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                  core::Time $now$) const override {
  if ($busy$) return {};
  $choice$
}$notices$)",
      {{"busy", is_busy(outline)},
       {"now", waits ? "now" : "/*now*/"},
       {"notices", waits ? kNotices : ""},
       {"ready", ready},
       {"hint", hint_title(outline.program)},
       {"choice", waits ? fmt::format("return patience_.choose(preferred({}), awaited({}), now);",
                                      offer_arguments(outline), outline.engines ? "engine" : "")
                        : hint_choice(outline)}});
}

// The hint without its patience.
std::string preferred(const Outline& outline) {
  return fill(R"([[nodiscard]] core::Choice preferred($parameters$) const {
  $choice$
})",
              {{"parameters", offer_parameters(outline)}, {"choice", hint_choice(outline)}});
}

// , patience_(…)
std::string patience_member(const Outline& outline, const std::string& name) {
  if (!has_patience(outline.program)) return "";
  const spec::Hint& hint = outline.program.dispatch.hint;
  std::vector<std::string> fillers;
  for (const spec::HintPlace& place : hint.fill) {
    fillers.push_back(op_constant(outline.program, place.op));
  }
  return fmt::format(
      ",\n        patience_({}::facts, rank, {{.patience = {}, .yield = {}, .forecasts = {}{}}}, "
      "{{{}}})",
      name, hint.patience->patience.value(), hint.patience->yield.value(), hint.patience->forecasts,
      hint.patience->learns ? ", .learns = true" : "", fmt::join(fillers, ", "));
}

constexpr const char* kOneEngine =
    R"(void ready(core::Engine engine, core::TaskSet& out) const override {
  rows_.reset(out);
  if (engine == core::Engine::compute && next_may_start()) out.add(order_.next());
}

// The order's next task, or none.
[[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                  core::Time /*now*/) const override {
  const core::Task next = order_.next();
  if (engine != core::Engine::compute || !next_may_start()) return {};
  if (allowed != nullptr && !allowed->contains(next)) return {};
  return {.kind = core::Choice::Kind::start, .task = next, .until = core::Time{0}};
})";

constexpr const char* kEngines =
    R"(void ready(core::Engine engine, core::TaskSet& out) const override {
  rows_.reset(out);
  if (next_may_start(engine)) out.add(order_.next(engine));
}

// The order's next task of the engine, or none.
[[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                  core::Time /*now*/) const override {
  const core::Task next = order_.next(engine);
  if (!next_may_start(engine)) return {};
  if (allowed != nullptr && !allowed->contains(next)) return {};
  return {.kind = core::Choice::Kind::start, .task = next, .until = core::Time{0}};
})";

constexpr const char* kNext = R"(

[[nodiscard]] core::Task next_in_order(core::Engine engine) const override {
  return order_.next(engine);
})";

std::string ordered_dispatch(const Outline& outline) {
  return (outline.engines ? kEngines : kOneEngine) + std::string(outline.rendezvous ? kNext : "");
}

std::string next_may_start(const Outline& outline) {
  const bool guarded = has_guards(outline);
  if (!outline.engines) {
    return fill(R"([[nodiscard]] bool next_may_start() const {
  return step_.idle && rows_.contains(order_.next())$room$;
})",
                {{"room", guarded ? " && has_room(order_.next().lane, step_.held)" : ""}});
  }
  return fill(R"([[nodiscard]] bool next_may_start(core::Engine engine) const {
  const core::Task next = order_.next(engine);
  return rows_.contains(next) && engines_.takes(engine, next.lane)$room$;
})",
              {{"room", guarded ? " && has_room(next.lane, step_.held)" : ""}});
}

// What the engines are told: at a start, at an end, and when a rendezvous message is taken.
std::string engines_started(const Outline& outline) {
  return outline.engines ? "engines_.started(task);" : "step_.idle = false;";
}
std::string engines_finished(const Outline& outline) {
  return outline.engines ? "engines_.finished(task);" : "step_.idle = true;";
}
std::string on_taken(const Outline& outline) {
  if (!outline.rendezvous) return "";
  return "\n\n  void on_taken(core::Message message, core::Time /*now*/) override {\n"
         "    engines_.taken(message);\n  }";
}

}  // namespace

std::string arbiter(const Outline& outline, const std::string& name) {
  const Program& program = outline.program;
  const bool in_order = program.dispatch.in_order;
  const bool has_order = dispatched_order(program) >= 0;
  const bool waits = has_patience(program);
  const bool keeps = has_kept_order(outline);
  std::string begin;
  if (outline.engines) begin = "engines_.begin_step(microbatches);";
  if (has_order) {
    const std::string facts = outline.engines && in_order ? name + "::facts, " : "";
    begin += (begin.empty() ? "" : "\n") +
             fmt::format("order_.reset({}rows_.first_lane(), rows_.end_lane());\n", facts) +
             order_call(outline) + (waits ? "\npatience_.begin_step(microbatches, order_);" : "") +
             (keeps ? "\nkept_.begin_step(microbatches, order_);" : "");
  }
  if (priority_reads_count(outline)) {
    begin += std::string(begin.empty() ? "" : "\n") + "step_.microbatches = microbatches;";
  }
  std::vector<std::string> helpers;
  if (in_order) {
    helpers.push_back(next_may_start(outline));
  } else {
    helpers = chunk_tables(program);
    if (keeps) helpers.push_back(is_admitted(outline));
    for (std::string& offer : offers(outline)) helpers.push_back(std::move(offer));
    if (has_priorities(program)) {
      const std::string checks = fmt::format("{}", fmt::join(offer_checks(outline, true), " && "));
      for (std::string& text : priority_helpers(outline, lane_of_turn(outline), checks)) {
        helpers.push_back(std::move(text));
      }
    }
    for (std::string& text : waiting(outline)) helpers.push_back(std::move(text));
    if (waits) helpers.push_back(preferred(outline));
  }
  const bool bound = has_order && at(program.orders, dispatched_order(program)).file;
  const std::string order_type = in_order && outline.engines ? "core::CommittedOrders"
                                 : in_order                  ? "core::CommittedOrder"
                                 : bound                     ? "core::FollowedTasks"
                                                             : "core::FollowedOrder";
  const std::string step = step_state(outline);
  if (!step.empty())
    helpers.insert(helpers.begin(), "struct Step {\n" + fill("  $step$\n};", {{"step", step}}));
  return fill(
      R"(
class Arbiter final : public core::Arbiter {
 public:
  explicit Arbiter(int rank) : rows_($name$::facts, rank$sequential$)$engines$$kept$$patience$ {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return $name$::facts; }
  [[nodiscard]] int rank() const override { return rows_.rank(); }

  [[nodiscard]] core::Status begin_step(std::int64_t /*step*/, int microbatches) override {
    if (core::Status status = rows_.begin_step(microbatches); !status.ok()) return status;
    $reset$
    $begin$
    return {};
  }

  void on_arrived(core::Message message, core::Time $now$) override {$arrived$

  void started(core::Task task, core::Time $now$) override {
    rows_.started(task);
    $waits_started$
    $engines_started$
    $acquire$
    $order_started$
    $rounds$
  }

  void on_finished(core::Task task, core::Time $now$) override {
    rows_.finished(task);
    $waits_finished$
    $engines_finished$
    $release$
  }

  $dispatch$

 private:
  $helpers$

  core::ReadyRows rows_;
  $engines_member$
  $step_member$
  $order_member$
  $kept_member$
  $patience_member$
};
)",
      {{"name", name},
       {"sequential", sequential_ops(program)},
       {"engines", outline.engines ? fmt::format(", engines_({}::facts, rank)", name) : ""},
       {"reset", step.empty() ? "" : "step_ = {};"},
       {"begin", begin},
       {"kept", keeps ? fmt::format(",\n        kept_({}::facts, rank)", name) : ""},
       {"kept_member", keeps ? "core::KeptOrder kept_;" : ""},
       {"patience", patience_member(outline, name)},
       {"now", waits ? "now" : "/*now*/"},
       {"waits_started", waits ? "patience_.started(task, now);" : ""},
       {"waits_finished", waits ? "patience_.finished(task, now);" : ""},
       {"arrived",
        (waits ? "\n    rows_.arrived(message);\n    patience_.arrived(message, now);\n  }"
               : " rows_.arrived(message); }") +
            on_taken(outline)},
       {"engines_started", engines_started(outline)},
       {"engines_finished", engines_finished(outline)},
       {"engines_member", outline.engines ? "core::Engines engines_;" : ""},
       {"step_member", step.empty() ? "" : "Step step_;"},
       {"order_started", !has_order                     ? ""
                         : in_order && !outline.engines ? "order_.started();"
                         : bound                        ? "order_.started(task);"
                         : keeps ? "order_.started(task.lane);\nkept_.started();"
                                 : "order_.started(task.lane);"},
       {"acquire", has_guards(outline) ? "acquire(task.lane, step_.held);" : ""},
       {"release", has_guards(outline) ? "release(task.lane, step_.held);" : ""},
       {"rounds", rounds_taken(program)},
       {"dispatch", in_order ? ordered_dispatch(outline) : free_dispatch(outline)},
       {"helpers", paragraphs(helpers)},
       {"order_member", has_order ? order_type + " order_;" : ""},
       {"patience_member", waits ? "core::Patience patience_;" : ""}});
}

}  // namespace ripeline::codegen
