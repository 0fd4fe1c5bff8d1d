// Tests ranks that are connected only with neighbours, and still learn about all ranks.
#include "runtime/protocol/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lower/facts.h"
#include "runtime/network/folder_store.h"
#include "runtime/run.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing_support::TemporaryFolder;
using namespace std::chrono_literals;

spec::Program of_library(const std::string& schedule, int ranks) {
  const auto& all = spec::library();
  const auto entry = std::find_if(all.begin(), all.end(),
                                  [&](const spec::LibraryEntry& e) { return e.name == schedule; });
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  return spec::compile({schedule, std::string(entry->text)}, options).value();
}

TEST(Neighbours, are_those_of_the_program_and_of_the_tree) {
  const core::OwnedFacts facts = lower::facts_of(of_library("bf", 8));
  const core::Layout layout{.ranks = 8};
  EXPECT_THAT(neighbours_of(0, layout, facts.facts()), ElementsAre(1, 2));
  EXPECT_THAT(neighbours_of(3, layout, facts.facts()), ElementsAre(1, 2, 4, 7));
  EXPECT_THAT(neighbours_of(7, layout, facts.facts()), ElementsAre(3, 6));
  EXPECT_THAT(neighbours_of(0, {.ranks = 1}, {}), IsEmpty());
}

TEST(Neighbours, are_so_of_each_other) {
  for (const char* schedule : {"bf", "zb_v", "interleaved_1f1b"}) {
    const core::OwnedFacts facts = lower::facts_of(of_library(schedule, 6));
    for (int self = 0; self < 6; ++self) {
      for (const int other : neighbours_of(self, {.ranks = 6}, facts.facts())) {
        const std::vector<int> back = neighbours_of(other, {.ranks = 6}, facts.facts());
        EXPECT_TRUE(std::binary_search(back.begin(), back.end(), self))
            << schedule << self << other;
      }
    }
  }
}

// Connects each rank with the ranks before and after it, and with its neighbours in the tree.
network::SocketOptions in_chain(int rank, int ranks) {
  network::SocketOptions options = testing_support::socket_options(rank, ranks);
  if (rank > 0) options.neighbours.push_back(rank - 1);
  if (rank + 1 < ranks) options.neighbours.push_back(rank + 1);
  return options;
}

TEST(Chain, gathers_of_all_and_refuses_to_send_to_others) {
  constexpr int kRanks = 9;
  const TemporaryFolder folder;
  testing_support::in_threads(kRanks, [&](int rank) {
    std::unique_ptr<Transport> transport;
    const Status status =
        network::connect_in_folder(in_chain(rank, kRanks), folder.path(), transport);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LE(transport->neighbours().size(), 5U);
    for (int to = 0; to < kRanks; ++to) {
      const bool is_neighbour =
          std::count(transport->neighbours().begin(), transport->neighbours().end(), to) > 0;
      if (is_neighbour) continue;
      EXPECT_EQ(transport->send(to, {}, {}).code(), StatusCode::invalid) << rank << to;
    }
    runtime::Run run(*transport);
    std::vector<Blob> all;
    for (int i = 0; i < 3; ++i) {
      const Status gathered =
          run.gather("names", testing_support::bytes(std::to_string(rank)), all);
      ASSERT_TRUE(gathered.ok()) << gathered.message();
      ASSERT_EQ(all.size(), static_cast<std::size_t>(kRanks));
      EXPECT_EQ(all[8], testing_support::bytes("8"));
    }
    EXPECT_TRUE(run.finish(30s).ok());
  });
}

TEST(Chain, tells_all_who_has_failed) {
  constexpr int kRanks = 8;
  const TemporaryFolder folder;
  std::array<Status, kRanks> said;
  testing_support::in_threads(kRanks, [&](int rank) {
    std::unique_ptr<Transport> transport;
    const Status status =
        network::connect_in_folder(in_chain(rank, kRanks), folder.path(), transport);
    ASSERT_TRUE(status.ok()) << status.message();
    runtime::Run run(*transport, {.limits = {.answers = 60s}});
    std::vector<Blob> all;
    said[static_cast<std::size_t>(rank)] =
        rank == 6 ? run.fail({StatusCode::failed, "out of paper"}) : run.gather("norms", {}, all);
  });
  for (const Status& status : said) {
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_THAT(status.message(), StartsWith("rank 6 failed: out of paper"));
  }
}

TEST(Chain, tells_all_who_is_lost) {
  constexpr int kRanks = 8;
  const TemporaryFolder folder;
  std::array<Status, kRanks> said;
  testing_support::in_threads(kRanks, [&](int rank) {
    std::unique_ptr<Transport> transport;
    const Status status =
        network::connect_in_folder(in_chain(rank, kRanks), folder.path(), transport);
    ASSERT_TRUE(status.ok()) << status.message();
    if (rank == 5) return;  // ends without a report
    runtime::Run run(*transport, {.limits = {.answers = 60s}});
    std::vector<Blob> all;
    said[static_cast<std::size_t>(rank)] = run.gather("norms", {}, all);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == 5) continue;
    EXPECT_THAT(said[static_cast<std::size_t>(rank)].message(), StartsWith("rank 5 was lost"));
  }
}

TEST(Chain, tells_all_who_did_not_come) {
  constexpr int kRanks = 7;
  const TemporaryFolder folder;
  testing_support::in_threads(kRanks - 1, [&](int rank) {
    network::SocketOptions options = in_chain(rank, kRanks);
    options.connect_limit = 300ms;
    std::unique_ptr<Transport> transport;
    const Status status = network::connect_in_folder(options, folder.path(), transport);
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_THAT(status.message(), StartsWith("rank 6 did not come to "));
  });
}

// Rank 1, whose only neighbour is rank 0, ends while rank 0 still waits for rank 2.
TEST(Chain, does_not_miss_a_rank_that_has_finished) {
  const TemporaryFolder folder;
  std::atomic<bool> last_may_finish = false;
  testing_support::in_threads(3, [&](int rank) {
    network::SocketOptions options = testing_support::socket_options(rank, 3);
    options.neighbours = rank == 0 ? std::vector{1, 2} : std::vector{0};
    std::unique_ptr<Transport> transport;
    const Status status = network::connect_in_folder(options, folder.path(), transport);
    ASSERT_TRUE(status.ok()) << status.message();
    while (rank == 2 && !last_may_finish) std::this_thread::sleep_for(1ms);
    if (rank != 0) {
      EXPECT_TRUE(transport->finish(60s).ok());
      return;
    }
    EXPECT_EQ(transport->finish(20ms).code(), StatusCode::timeout);
    const core::Time before = std::chrono::steady_clock::now().time_since_epoch();
    while (transport->heard(1) < before) EXPECT_FALSE(transport->finish(20ms).ok());
    EXPECT_EQ(transport->queued(1), 0U);
    last_may_finish = true;
    EXPECT_TRUE(transport->finish(60s).ok());
  });
}

TEST(Tcp, says_what_the_network_said) {
  const TemporaryFolder folder;
  std::array<Status, 2> said;
  testing_support::in_threads(2, [&](int rank) {
    network::SocketOptions options = testing_support::socket_options(rank, 2);
    options.connect_limit = rank == 0 ? 60s : 1s;
    std::unique_ptr<Transport> transport;
    if (rank == 1) {  // replaces the address of rank 0 by one where nobody listens
      std::unique_ptr<network::FolderStore> store;
      ASSERT_TRUE(network::FolderStore::open(folder.path(), store).ok());
      std::optional<Blob> there;
      while (!there) ASSERT_TRUE(store->get("address-0", there).ok());
      ASSERT_TRUE(store->set("address-0", testing_support::bytes("tcp:127.0.0.1:1")).ok());
    }
    said[static_cast<std::size_t>(rank)] =
        testing_support::connect_by_tcp(options, folder.path(), transport);
  });
  for (const Status& status : said) {
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_THAT(status.message(),
                StartsWith("rank 0 did not connect within 1 s: rank 1 cannot reach rank 0 at "
                           "tcp:127.0.0.1:1: "));
    EXPECT_THAT(status.message(), HasSubstr("refused"));
  }
}

}  // namespace
}  // namespace ripeline::runtime::protocol
