// Tests members of tensor-parallel groups as processes: which tasks they start, and who is blamed.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "runtime/protocol/ballot_codec.h"
#include "tests/runtime/each_transport.h"
#include "tests/runtime/toy_run.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using std::chrono::microseconds;
using testing_support::ProvedText;
using testing_support::ToyRun;

// Two ranks of two stages each, so that members can choose between tasks.
std::string program(const std::string& agree, int members = 2) {
  return R"(pipeline group {
  param ranks = 2;
  microbatches any;
  stages 2 * ranks;
  place s on s < ranks ? s : 2 * ranks - 1 - s;
  tensor_parallel )" +
         std::to_string(members) + R"( { agree by )" + agree + R"(; }
  op F forward sequential { needs F at prev;  acquires activation leaving chunks - 1 - chunk;  collectives 2; }
  op B backward sequential { needs F at here, B at next;  releases activation;  collectives 2; }
  resource activation per rank { capacity 2 * ranks; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
})";
}

// Waits for a random time before each task.
BeforeTask stagger(int process, std::uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed * 64 + static_cast<std::uint32_t>(process));
  return [random](const TaskInfo&) {
    std::this_thread::sleep_for(microseconds((*random)() % 8 == 0 ? (*random)() % 2000 : 0));
  };
}

class Members : public testing::TestWithParam<const char*> {
 protected:
  // Connects the processes over Unix sockets.
  std::vector<std::unique_ptr<Transport>> connect(int processes) {
    std::vector<std::unique_ptr<Transport>> group(static_cast<std::size_t>(processes));
    testing_support::in_threads(processes, [&](int process) {
      testing_support::expect_ok(
          testing_support::connect("unix", process, processes, folder_.path(), {},
                                   group[static_cast<std::size_t>(process)]));
    });
    return group;
  }

 private:
  testing_support::TemporaryFolder folder_;
};

TEST_P(Members, start_tasks_with_collectives_in_one_order) {
  constexpr int kSteps = 4;
  constexpr int kMicrobatches = 9;
  const ProvedText proved(program(GetParam()), 2);
  const core::Layout layout = core::layout_of(proved.facts());
  ASSERT_EQ(layout.processes(), 4);
  for (const bool over_sockets : {false, true}) {
    ToyRun run(proved, {.width = 4});
    if (over_sockets) run.connect = [this](int processes) { return connect(processes); };
    run.in_engine_thread = true;
    for (int process = 0; process < layout.processes(); ++process) {
      run.rank(process).before_task = stagger(process, 7);
    }
    run.run(kSteps, kMicrobatches);
    run.expect_reference(kSteps, kMicrobatches);
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const auto of = [&](int member) {
        return run.rank(layout.process({.rank = rank, .member = member})).started;
      };
      EXPECT_EQ(of(0), of(1)) << "rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, Members, testing::Values("intersection", "vote", "leader"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace ripeline::runtime::protocol
