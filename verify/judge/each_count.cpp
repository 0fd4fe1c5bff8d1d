#include "verify/judge/each_count.h"

#include <utility>

#include "verify/judge/bounds.h"
#include "verify/states/explain.h"

namespace ripeline::verify {

CountAnswers each_count(const CountPlan& plan,
                        const std::function<CountAnswer(int microbatches, bool fewest)>& ask) {
  CountAnswers answers;
  bool fewest = true;
  const auto next = [&](int from) {
    if (plan.in_question) return plan.in_question(from);
    return plan.range.contains(from) ? std::optional(from) : std::nullopt;
  };
  std::optional<int> count = next(plan.range.min);
  for (int asked = 0; count; count = next(*count + 1), ++asked) {
    const bool all_safe = !answers.open && !answers.other_choices;
    const bool to_the_end = plan.to_the_end && plan.range.max && all_safe;
    const bool spent = plan.budget != nullptr && plan.budget->left == 0;
    if ((asked >= plan.most && !to_the_end) || spent) {
      if (!answers.open) answers.open = count;
      return answers;
    }
    CountAnswer answer = ask(*count, fewest);
    switch (answer.what) {
      case CountAnswer::What::settled:
        answers.settled = std::move(answer.finding);
        return answers;
      case CountAnswer::What::safe:
        answers.safe.push_back(*count);
        continue;
      case CountAnswer::What::others:
        if (!answers.other_choices) answers.other_choices = answer.finding.other_choices;
        break;
      case CountAnswer::What::open:
        if (!answers.open) answers.open = count;
        break;
    }
    fewest = fewest && answer.dispatch_is_safe;
  }
  return answers;
}

CountAnswer answer_of(const HuntResult& hunted, const std::function<Finding()>& of_run) {
  switch (hunted.what) {
    case HuntResult::What::refuted:
      return {CountAnswer::What::settled, of_run()};
    case HuntResult::What::safe:
      return {CountAnswer::What::safe};
    case HuntResult::What::open:
      return {CountAnswer::What::open, {}, hunted.dispatch_is_safe};
    case HuntResult::What::others:
      break;
  }
  Finding found;
  found.other_choices = of_run().counterexample;
  found.other_choices->fewest = false;
  return {CountAnswer::What::others, std::move(found), hunted.dispatch_is_safe};
}

Finding by_counts(const CountAnswers& answers, Finding open) {
  if (answers.settled) return *answers.settled;
  if (answers.other_choices) {
    const bool of_bounds = answers.other_choices->waits.empty();
    return {.method = Method::states,
            .reason = of_bounds ? "Kept only through its hint, as far as was searched: other "
                                  "choices among the tasks that may start break an assertion."
                                : "Safe only through its hint, as far as was searched: other "
                                  "choices among the tasks that may start deadlock.",
            .other_choices = answers.other_choices};
  }
  if (answers.open) return open;
  return {.outcome = Outcome::proved, .method = Method::states};
}

Finding refuted_by(const spec::Machine& machine, const Goal& goal,
                   const std::vector<spec::Event>& run, bool fewest, Method method) {
  const spec::Program& program = machine.program();
  const int microbatches = machine.microbatches();
  Finding found{.outcome = Outcome::refuted, .method = method};
  found.counterexample = Counterexample{microbatches, fewest, run, {}};
  if (goal.is_stuck()) {
    const spec::Dispatch& dispatch = program.dispatch;
    found.counterexample->waits = waits_after(machine, run);
    found.reason = explain_stuck(machine, run);
    found.span = dispatch.in_order ? at(program.orders, dispatch.order).span : dispatch.span;
  } else {
    found.reason = explain_excess(machine, goal, run);
    found.span = span_of_broken(program, goal, microbatches, run.back().lane);
  }
  return found;
}

std::optional<spec::Span> span_of_full(const spec::Program& program,
                                       const std::vector<BlockedTask>& waits) {
  for (const BlockedTask& wait : waits) {
    if (wait.block.why != spec::Block::Why::room) continue;
    return at(program.resources, at(program.pools, wait.block.pool).resource).span;
  }
  return std::nullopt;
}

}  // namespace ripeline::verify
