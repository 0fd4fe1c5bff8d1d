// Tests steps whose tasks the caller runs, while messages move beside them.
#include "runtime/pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/network/local.h"
#include "runtime/toy_work.h"
#include "simulate/interpreter.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::ProvedText;
using namespace std::chrono_literals;

const char* const kChain = R"(
pipeline chain {
  param ranks = 3;
  microbatches any;
  stages ranks;
  place s on s;
  op F forward sequential  { needs F at prev;             acquires activation; }
  op B backward sequential { needs F at here, B at next;  releases activation; }
  resource activation per stage { capacity ranks - s; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
}
)";

// Two stages per rank, and pairs that start at once.
const char* const kPairs = R"(
pipeline v {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  op F forward sequential { needs F at prev;  acquires activation leaving chunks - 1 - chunk; }
  op I backward input sequential  { needs F at here, I at next; }
  op W backward weight sequential { needs I at here;  releases activation; }
  resource activation per rank { capacity 2 * ranks; }
  pair F, I;
  pair F, W;
  hint bfw { rounds I, F;  fill W; }
  dispatch ready by bfw;
}
)";

// One rank with a toy model, whose tasks the test's thread runs.
struct Pumped {
  Pumped(const ProvedText& proved, const ToyModel& model, Transport& transport)
      : arbiter(proved.program(), proved.facts(), transport.self()),
        work(model),
        run(transport, {.limits = {.stall = 60s}}),
        pump(run),
        rank(arbiter, run.layout(), transport.self()) {}

  Status step(std::int64_t number, int microbatches,
              const std::function<Status(const TaskInfo&)>& before = nullptr) {
    if (Status s = work.begin_step(number, microbatches); !s.ok()) return s;
    if (Status s = pump.begin(rank, number, microbatches); !s.ok()) return s;
    for (;;) {
      Call call;
      const Pump::Next next = pump.next(call, 50ms);
      if (next == Pump::Next::over) return pump.outcome();
      if (next == Pump::Next::nothing) continue;
      Status status = before ? before(call.task) : Status();
      if (status.ok()) status = work.run(call);
      pump.end(std::move(call), std::move(status));
    }
  }

  simulate::InterpretedArbiter arbiter;
  ToyWork work;
  runtime::Run run;
  Pump pump;
  protocol::Rank rank;
};

// Runs `body` for each rank in a thread; the rank's transport ends with it.
void run_ranks(std::vector<std::unique_ptr<Transport>> group, const ProvedText& proved,
               const ToyModel& model, const std::function<void(Pumped&)>& body) {
  testing_support::in_threads(static_cast<int>(group.size()), [&](int r) {
    auto& transport = group[static_cast<std::size_t>(r)];
    {
      Pumped pumped(proved, model, *transport);
      body(pumped);
    }
    transport.reset();
  });
}

// The tasks of 1 ms are longer than the helper's patience, which a task without a sleep is not.
TEST(Pump, makes_the_references_gradients) {
  const struct {
    const char* text;
    int ranks;
    int stages;
    int width;
    std::chrono::milliseconds task;
  } kCases[] = {{kChain, 3, 3, 5, 0ms}, {kPairs, 2, 4, 3, 0ms}, {kChain, 2, 2, 40'000, 1ms}};
  for (const auto& c : kCases) {
    for (const bool sockets : {false, true}) {
      SCOPED_TRACE(std::string(c.text) + (sockets ? " over sockets" : ""));
      const ProvedText proved(c.text, c.ranks);
      const ToyModel model{.stages = c.stages, .width = c.width, .seed = 7};
      const testing_support::TemporaryFolder folder;
      auto group = sockets ? testing_support::connect_group(c.ranks, folder.path())
                           : network::make_local_group(c.ranks);
      std::atomic<std::int64_t> helped = 0;
      run_ranks(std::move(group), proved, model, [&](Pumped& rank) {
        for (int step = 0; step < 3; ++step) {
          const Status status = rank.step(step, 6, [&](const TaskInfo&) {
            if (c.task > 0ms) std::this_thread::sleep_for(c.task);
            return Status();
          });
          ASSERT_EQ(status.message(), "");
          const ToyResult wanted = reference_gradients(model, step, 6);
          for (const auto& [stage, gradient] : rank.work.gradients()) {
            EXPECT_EQ(gradient, wanted.gradients[static_cast<std::size_t>(stage)])
                << "stage " << stage << ", step " << step;
          }
          EXPECT_EQ(rank.work.gradients().size(), static_cast<std::size_t>(c.stages / c.ranks));
        }
        EXPECT_EQ(rank.run.finish(10s).message(), "");
        helped += rank.pump.helped();
      });
      EXPECT_TRUE(helped > 0 || c.task == 0ms) << helped;
    }
  }
}

// Without the helper, rank 2 would wait for the report of rank 0 until that task has ended.
TEST(Pump, takes_part_in_the_run_while_a_task_takes_long) {
  const ProvedText proved(kChain, 3);
  const ToyModel model{.stages = 3, .width = 2, .seed = 7};
  std::atomic<bool> runs = false;
  std::atomic<bool> failed = false;
  std::array<Status, 3> status;
  run_ranks(network::make_local_group(3), proved, model, [&](Pumped& rank) {
    Status& mine = status[static_cast<std::size_t>(rank.run.self())];
    if (rank.run.self() == 2) {
      while (!runs) std::this_thread::sleep_for(1ms);
      mine = rank.run.fail({StatusCode::failed, "no data"});
      failed = true;
      return;
    }
    mine = rank.step(0, 6, [&](const TaskInfo& task) {
      if (task.stage != 0) return Status();
      runs = true;
      const auto limit = std::chrono::steady_clock::now() + 60s;
      while (!failed && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
      EXPECT_TRUE(failed);
      return Status();
    });
  });
  for (const Status& s : status) EXPECT_THAT(s.message(), HasSubstr("rank 2 failed: no data"));
}

TEST(Pump, ends_the_step_of_all_if_a_task_fails) {
  const ProvedText proved(kChain, 3);
  const ToyModel model{.stages = 3, .width = 2, .seed = 7};
  std::array<Status, 3> status;
  run_ranks(network::make_local_group(3), proved, model, [&](Pumped& rank) {
    status[static_cast<std::size_t>(rank.run.self())] = rank.step(0, 6, [](const TaskInfo& task) {
      return task.stage == 1 && task.microbatch == 2 ? Status(StatusCode::failed, "no memory")
                                                     : Status();
    });
  });
  for (const Status& s : status) {
    EXPECT_EQ(s.code(), StatusCode::failed);
    EXPECT_THAT(s.message(), testing::ContainsRegex("rank 1 failed: 1[FB]2 failed: no memory"));
  }
}

// The caller gives up while it waits, or while a task runs that it does not end.
TEST(Pump, fails_for_its_caller) {
  const ProvedText proved(kChain, 3);
  const ToyModel model{.stages = 3, .width = 2, .seed = 7};
  for (const bool in_task : {false, true}) {
    std::array<Status, 3> status;
    run_ranks(network::make_local_group(3), proved, model, [&](Pumped& rank) {
      Status& mine = status[static_cast<std::size_t>(rank.run.self())];
      if (rank.run.self() != (in_task ? 0 : 2)) {
        mine = rank.step(0, 6);
        return;
      }
      ASSERT_EQ(rank.pump.begin(rank.rank, 0, 6).message(), "");
      Call call;
      if (in_task) {
        while (rank.pump.next(call, 50ms) != Pump::Next::task) {
        }
        std::this_thread::sleep_for(10ms);  // the helper turns the loop meanwhile
      }
      mine = rank.pump.fail({StatusCode::failed, "interrupted"});
      EXPECT_EQ(rank.pump.outcome().message(), mine.message());
    });
    for (const Status& s : status) EXPECT_THAT(s.message(), HasSubstr("failed: interrupted"));
  }
}

TEST(Pump, leaves_with_the_others_or_alone) {
  const ProvedText proved(kChain, 2);
  const ToyModel model{.stages = 2, .width = 2, .seed = 7};
  run_ranks(network::make_local_group(2), proved, model, [&](Pumped& rank) {
    EXPECT_EQ(rank.step(0, 6).message(), "");
    EXPECT_EQ(rank.run.leave(60s).message(), "");
  });
  run_ranks(network::make_local_group(2), proved, model, [&](Pumped& rank) {
    EXPECT_EQ(rank.step(0, 6).message(), "");
    if (rank.run.self() == 1) {
      EXPECT_EQ(rank.run.leave(50ms).code(), StatusCode::timeout);
    } else {
      EXPECT_THAT(rank.step(1, 6).message(), HasSubstr("rank 1 was lost"));
    }
  });
}

TEST(Pump, waits_no_longer_than_a_slice) {
  const ProvedText proved(kChain, 2);
  const ToyModel model{.stages = 2, .width = 2, .seed = 7};
  auto group = network::make_local_group(2);
  Pumped rank(proved, model, *group[1]);
  ASSERT_EQ(rank.pump.begin(rank.rank, 0, 6).message(), "");
  const auto begin = std::chrono::steady_clock::now();
  Call call;
  EXPECT_EQ(rank.pump.next(call, 30ms), Pump::Next::nothing);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  EXPECT_EQ(rank.pump.helped(), 0) << "no task runs";
}

}  // namespace
}  // namespace ripeline::runtime
