#include "tests/runtime/ranks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "runtime/network/folder_store.h"

namespace ripeline::testing_support {

void in_threads(int ranks, const std::function<void(int rank)>& run) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
}

runtime::network::SocketOptions socket_options(int rank, int ranks) {
  runtime::network::SocketOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.program_hash = 0xabcd;
  options.connect_limit = std::chrono::seconds(10);
  return options;
}

std::uint64_t token_in(const std::string& folder) {
  constexpr std::size_t kBefore = sizeof(std::uint16_t) + sizeof(std::int64_t);  // formats.md
  std::ifstream file(folder + "/rank-0", std::ios::binary);
  std::array<char, kBefore + sizeof(std::uint64_t)> bytes{};
  EXPECT_TRUE(file.read(bytes.data(), bytes.size())) << folder;
  std::uint64_t token = 0;
  std::memcpy(&token, bytes.data() + kBefore, sizeof token);
  return token;
}

core::Status connect_by_tcp(runtime::network::SocketOptions options, const std::string& folder,
                            std::unique_ptr<runtime::Transport>& transport,
                            runtime::network::BufferPool* pool) {
  std::unique_ptr<runtime::network::FolderStore> store;
  if (core::Status s = runtime::network::FolderStore::open(folder, store); !s.ok()) return s;
  options.address = "tcp:127.0.0.1:0";
  return runtime::network::connect_sockets(std::move(options), std::move(store), transport, pool);
}

std::vector<std::unique_ptr<runtime::Transport>> connect_group(int ranks, const std::string& folder,
                                                               Sockets sockets) {
  std::vector<std::unique_ptr<runtime::Transport>> group(static_cast<std::size_t>(ranks));
  const auto connect = [&](runtime::network::SocketOptions options,
                           std::unique_ptr<runtime::Transport>& to) {
    if (sockets == Sockets::tcp) return connect_by_tcp(std::move(options), folder, to);
    return runtime::network::connect_in_folder(std::move(options), folder, to);
  };
  in_threads(ranks, [&](int rank) {
    const core::Status status =
        connect(socket_options(rank, ranks), group[static_cast<std::size_t>(rank)]);
    EXPECT_TRUE(status.ok()) << status.message();
  });
  return group;
}

}  // namespace ripeline::testing_support
