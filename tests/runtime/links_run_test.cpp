// Tests whole runs over bounded links on which messages overtake each other: every task gets its
// inputs, each once, and every step ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "runtime/network/local.h"
#include "runtime/protocol/delay.h"
#include "spec/elaborate.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::ProvedText;
using testing_support::TemporaryFolder;
using testing_support::ToyRun;

struct Linked {
  const char* name;
  int ranks;
  int microbatches;
  std::string text;
};
void PrintTo(const Linked& linked, std::ostream* out) { *out << linked.name; }

std::string chain(const std::string& ops, const std::string& more = "",
                  const std::string& dispatch = "ready by bf") {
  return "pipeline chain {\n  param ranks = 4;\n  microbatches any;\n  stages ranks;\n"
         "  place s on s;\n  hint bf { rounds B, F; }\n" +
         ops + more + "  dispatch " + dispatch + ";\n}\n";
}

const std::string kWindow = "  resource a per stage { capacity ranks - s; }\n";

const Linked kPrograms[] = {
    {"join_by_fifo", 3, 9, R"(
pipeline join {
  param ranks = 3;
  microbatches any;
  stages vision 1, text 1, llm 1;
  edges vision -> llm, text -> llm;
  place s on s;
  op F forward sequential { needs F at prev via fifo 1;  acquires a; }
  op B backward { needs F at here, B at next;  releases a; }
  resource a per stage { capacity 4; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)"},
    {"slots_of_their_own", 4, 12,
     chain("  op F forward { needs F at prev via slots 1; acquires a; }\n"
           "  op B backward { needs F at here, B at next via slots 1; releases a; }\n",
           kWindow)},
    {"shared_inbox", 4, 12,
     chain("  op F forward { needs F at prev via inbox; acquires a; }\n"
           "  op B backward { needs F at here, B at next via inbox; releases a; }\n",
           kWindow + "  channel inbox per stage { slots 2; }\n")},
    {"reduce_once", 4, 7,
     chain("  op F forward { needs F at prev; acquires a; }\n"
           "  op B backward { needs F at here, B at next; releases a; }\n"
           "  op G reduce once { needs B at next of all, B at here of all; }\n",
           kWindow)},
    {"microbatch_before", 4, 7,
     chain("  op F forward sequential { needs F at prev; acquires a; }\n"
           "  op B backward sequential { needs F at here, B at next, F at prev of m - 1; "
           "releases a; }\n",
           kWindow)},
    {"offload", 4, 8,
     chain("  op F forward { needs F at prev; acquires a; }\n"
           "  op O offload on copy_out { needs F at here; releases a; }\n"
           "  op L reload on copy_in { needs O at here, B at next; acquires a; }\n"
           "  op B backward { needs L at here; releases a; }\n"
           "  resource a per stage { capacity 2; }\n")},
    {"some_microbatches", 4, 8,
     chain("  op F forward sequential { needs F at prev; acquires a; }\n"
           "  op B backward { needs F at here, B at next; releases a; }\n"
           "  op P on m where m % 3 == 2 { needs B at here, P at prev; }\n"
           "  op Q on m where m % 2 == 0 { needs F at here, P at next; }\n"
           "  op G once { needs Q at prev of all; }\n",
           kWindow)},
    {"rendezvous", 4, 9,
     chain("  op F forward { needs F at prev via rendezvous; acquires a; }\n"
           "  op B backward { needs F at here, B at next via rendezvous; releases a; }\n",
           kWindow + "  order one on r {\n    let warm = min(ranks - 1 - r, microbatches);\n"
                     "    F * warm;\n    (F B) * (microbatches - warm);\n    B * warm;\n  }\n",
           "in order one")},
};

std::string name_of(std::int64_t step, std::string_view op, int stage, int microbatch) {
  return std::to_string(step) + " " + std::to_string(stage) + std::string(op) +
         std::to_string(microbatch);
}

// A work whose tasks output their names, and expect as inputs the names of the tasks they need.
class Names final : public Work {
 public:
  explicit Names(const spec::Program& program) : program_(program) {}
  Status begin_step(std::int64_t /*step*/, int /*microbatches*/) override { return {}; }
  Status run(Call& call) override {
    const TaskInfo& task = call.task;
    std::vector<std::string> found;
    for (const Input& input : call.inputs) {
      const std::vector<std::byte>& head = input.payload.head;
      found.emplace_back(reinterpret_cast<const char*>(head.data()), head.size());
      if (found.back() != name_of(task.step, input.op, input.stage, input.microbatch)) {
        return {StatusCode::failed, "it got " + found.back()};
      }
    }
    if (found != needed(task)) return {StatusCode::failed, "it got other inputs than it needs"};
    const std::string name = name_of(task.step, task.op, task.stage, task.microbatch);
    call.give(payload_of(testing_support::bytes(name)));
    return {};
  }

 private:
  static bool is_needed(const spec::Edge& e, const TaskInfo& task, int microbatch) {
    if (e.of == spec::Of::all) return true;
    return microbatch == task.microbatch - (e.of == spec::Of::before ? 1 : 0);
  }

  [[nodiscard]] std::vector<std::string> needed(const TaskInfo& task) const {
    std::vector<std::string> names;
    for (const spec::Edge& e : program_.edges) {
      const spec::Lane& consumer = at(program_.lanes, e.consumer);
      const spec::Lane& producer = at(program_.lanes, e.producer);
      const std::string& op = at(program_.ops, consumer.op).name;
      if (consumer.stage != task.stage || op != task.op || producer.stage == task.stage) continue;
      for (int m = 0; m < task.microbatches; ++m) {
        if (!producer.share.has(m) || !is_needed(e, task, m)) continue;
        names.push_back(name_of(task.step, at(program_.ops, producer.op).name, producer.stage, m));
      }
    }
    return names;
  }

  const spec::Program& program_;
};

class LinksRun : public testing::TestWithParam<std::tuple<Linked, bool>> {};

TEST_P(LinksRun, ends_with_messages_that_overtake) {
  const auto& [linked, sockets] = GetParam();
  const ProvedText proved(linked.text, linked.ranks);
  ToyRun run(proved, {});
  const TemporaryFolder folder;
  if (sockets) {
    run.connect = [&](int ranks) { return testing_support::connect_group(ranks, folder.path()); };
  }
  protocol::DelayPlan plan;
  ASSERT_TRUE(protocol::DelayPlan::parse("message=0.05,rare=40:1.5", 11, plan).ok());
  Names names(proved.program());
  for (int r = 0; r < linked.ranks; ++r) {
    run.rank(r).work = &names;
    run.rank(r).options.due = protocol::due_of(plan, proved.facts());
  }
  constexpr int kSteps = 3;
  run.run(kSteps, linked.microbatches);
  for (int r = 0; r < linked.ranks; ++r) {
    EXPECT_TRUE(run.rank(r).status.ok()) << run.rank(r).status.message();
    EXPECT_EQ(run.rank(r).reports.size(), static_cast<std::size_t>(kSteps));
  }
}

INSTANTIATE_TEST_SUITE_P(Runtime, LinksRun,
                         testing::Combine(testing::ValuesIn(kPrograms), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "_by_socket" : "_in_one_process");
                         });

// Copy engines and the compute engine take turns; the gradients are those of the unpipelined model.
TEST(LinksRun, of_the_toy_model_makes_the_references_gradients) {
  const std::string offload = chain(
      "  op F forward sequential { needs F at prev via rendezvous; acquires a; }\n"
      "  op O offload on copy_out { needs F at here; }\n"
      "  op L reload on copy_in { needs O at here; }\n"
      "  op B backward sequential { needs L at here, B at next via rendezvous; "
      "releases a; }\n"
      "  op G reduce once { needs B at here of all; }\n",
      kWindow +
          "  order one on r {\n    let warm = min(ranks - 1 - r, microbatches);\n"
          "    (F O L) * warm;\n    (F O L B) * (microbatches - warm);\n    B * warm;\n"
          "    G;\n  }\n",
      "in order one");
  const std::string slots = chain(
      "  op F forward sequential { needs F at prev via fifo 1; acquires a; }\n"
      "  op B backward sequential { needs F at here, B at next via fifo 1; releases a; }\n"
      "  op G reduce once { needs B at here of all; }\n",
      kWindow);
  for (const std::string& text : {offload, slots}) {
    const ProvedText proved(text, 4);
    ToyRun run(proved, {.stages = 4, .width = 5, .seed = 3});
    protocol::DelayPlan plan;
    ASSERT_TRUE(protocol::DelayPlan::parse("message=0.05,rare=30:1", 5, plan).ok());
    for (int r = 0; r < 4; ++r) run.rank(r).options.due = protocol::due_of(plan, proved.facts());
    run.run(3, 8);
    run.expect_reference(3, 8);
  }
}

// A program that `verify` refutes deadlocks here too, and the ranks' messages name the slot.
TEST(LinksRun, of_a_refuted_program_sticks_and_names_the_slot) {
  const std::string text = chain(
      "  op F forward { needs F at prev via inbox; acquires a; }\n"
      "  op B backward { needs F at here, B at next via inbox; releases a; }\n",
      kWindow + "  channel inbox per stage { slots 1; }\n");
  const spec::Program program = spec::compile({"test.ripe", text}).value();
  const core::OwnedFacts storage = lower::facts_of(program);
  auto group = network::make_local_group(program.ranks);
  std::vector<Status> status(static_cast<std::size_t>(program.ranks));
  // The last rank is slow, so forwards fill the inbox of the rank before the last.
  testing_support::in_threads(program.ranks, [&](int r) {
    simulate::InterpretedArbiter arbiter(program, storage.facts(), r);
    Names names(program);
    runtime::Run run(*group[static_cast<std::size_t>(r)],
                     {.limits = {.stall = std::chrono::seconds(5)}});
    InlineEngine engine(names, [&](const TaskInfo&) {
      if (r == program.ranks - 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    protocol::Rank rank(arbiter, run.layout(), r);
    status[static_cast<std::size_t>(r)] = run.step(rank, engine, 0, 8);
  });
  std::string all;
  for (const Status& s : status) {
    EXPECT_FALSE(s.ok());
    all += s.message() + "\n";
  }
  for (const Status& s : status) {
    EXPECT_THAT(s.message(), testing::StartsWith("rank 2 waits for itself\n"));
  }
  EXPECT_THAT(all, HasSubstr("whose message waits for a slot: inbox of stage 2, 1 of 1 taken"));
}

}  // namespace
}  // namespace ripeline::runtime
