// Tests whole runs whose messages use carriers: the number of buffers, carrier messages in any
// order, and mistakes that must be noticed.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "tests/fake_gpu/fake_run.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using testing_support::Around;
using testing_support::by_way;
using testing_support::DeviceRun;
using testing_support::DeviceRunOptions;
using testing_support::expect_all_is_back;
using testing_support::FakeGpuTest;
using testing_support::kSequentialChain;
using testing_support::kSplitV;
using testing_support::misuses;
using testing_support::ProvedText;
using testing_support::Shuffled;
using testing_support::Way;

class CarrierRunTest : public FakeGpuTest {};

// By the program's tables, the most buffers to which others may write: the slots of each edge to
// the rank, and the inputs that its tasks may hold; plus one for the trial message.
std::size_t proved_buffers(const core::ProgramFacts& facts, int rank) {
  std::int64_t buffers = 1;
  for (std::size_t e = 0; e < facts.edges.size(); ++e) {
    const core::EdgeFacts& edge = facts.edges[e];
    const core::LaneFacts& consumer = facts.lanes[static_cast<std::size_t>(edge.consumer)];
    if (consumer.rank != rank || !facts.crosses_ranks(static_cast<core::EdgeId>(e))) continue;
    EXPECT_GE(edge.inbox, 0);
    buffers += facts.inboxes[static_cast<std::size_t>(edge.inbox)].slots;
    if (facts.ops[static_cast<std::size_t>(consumer.op)].kind != core::OpKind::forward) {
      buffers += 1;
      continue;
    }
    for (const core::PoolFacts& pool : facts.pools) {
      if (pool.rank == rank && (pool.stage < 0 || pool.stage == consumer.stage)) {
        buffers += pool.bound;
      }
    }
  }
  return static_cast<std::size_t>(buffers);
}

TEST_F(CarrierRunTest, there_are_never_more_buffers_than_were_proved) {
  const ProvedText proved(kSequentialChain, 4);
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    fake_gpu::begin({.seed = seed});
    DeviceRun run(proved, seed, by_way(Way::ipc));
    run.run(4, 9);
    run.toys().expect_reference(4, 9);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_LE(run.exported(rank), proved_buffers(proved.facts(), rank)) << "rank " << rank;
      most = std::max(most, run.exported(rank));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(most, 3U);
}

// Without bounded links every message has a slot, so each may have a buffer.
TEST_F(CarrierRunTest, unbounded_links_have_a_buffer_for_each_message_at_most) {
  constexpr int kCount = 6;
  const ProvedText proved(kSplitV, 2);
  const core::ProgramFacts& facts = proved.facts();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    fake_gpu::begin({.seed = seed});
    DeviceRun run(proved, seed, by_way(Way::ipc));
    run.run(6, kCount);
    run.toys().expect_reference(6, kCount);
    for (int rank = 0; rank < 2; ++rank) {
      std::size_t messages = 1;  // for the trial message
      for (std::size_t e = 0; e < facts.edges.size(); ++e) {
        const core::LaneFacts& consumer =
            facts.lanes[static_cast<std::size_t>(facts.edges[e].consumer)];
        const bool comes =
            consumer.rank == rank && facts.crosses_ranks(static_cast<core::EdgeId>(e));
        messages += comes ? kCount : 0;
      }
      EXPECT_LE(run.exported(rank), messages) << "rank " << rank;
    }
    if (HasFailure()) return;
  }
}

// A transport that releases each payload before its copy is over, which must be noticed.
class Forgetful final : public Around {
 public:
  using Around::Around;
  Status send(int to, const Envelope& envelope, Payload payload) override {
    const Payload kept = payload;
    for (Bytes& part : payload.parts) part.owner = nullptr;
    return inner_.send(to, envelope, std::move(payload));
  }
};

TEST_F(CarrierRunTest, what_is_let_go_of_too_early_is_noticed) {
  const ProvedText proved(kSplitV, 2);
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && noticed == 0; ++seed) {
    fake_gpu::begin({.seed = seed});
    DeviceRunOptions options = by_way(Way::ipc);
    options.before = [](std::unique_ptr<Transport> inner) {
      return std::make_unique<Forgetful>(std::move(inner));
    };
    DeviceRun run(proved, seed, options);
    run.run(2, 6);
    noticed += run.differs(2, 6) || !misuses().empty() ? 1 : 0;
  }
  EXPECT_GT(noticed, 0);
}

// Messages of carriers may overtake each other, and a message may overtake its carrier's messages.
TEST_F(CarrierRunTest, what_comes_in_any_order_and_late_is_right) {
  std::map<int, std::unique_ptr<ProvedText>> proved;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 draw(seed);
    const int ranks = static_cast<int>(2 + draw() % 3);
    auto& program = proved[ranks];
    if (!program) program = std::make_unique<ProvedText>(kSplitV, ranks);
    fake_gpu::begin({.seed = seed});
    {
      DeviceRunOptions options = by_way(Way::ipc);
      options.varies = draw() % 2 == 0;
      options.behind = [seed](Transport& inner) {
        return std::make_unique<Shuffled>(inner,
                                          seed * 10 + static_cast<std::uint64_t>(inner.self()));
      };
      DeviceRun run(*program, seed, options);
      run.run(3, 5);
      run.toys().expect_reference(3, 5);
      EXPECT_EQ(run.taken(), 0U);
    }
    expect_all_is_back();
    if (HasFailure()) return;
  }
}

TEST_F(CarrierRunTest, memory_that_is_freed_too_early_is_noticed) {
  const ProvedText proved(kSplitV, 2);
  fake_gpu::begin({.fault = fake_gpu::Fault::no_closes});
  {
    DeviceRun run(proved, 1, by_way(Way::ipc));
    run.run(1, 2);
  }
  EXPECT_NE(misuses().find("memory is freed that process 1 has open"), std::string::npos);
}

}  // namespace
}  // namespace ripeline::runtime::cuda
