// The ranks of one run as threads of the test: a group of transports, with one thread for each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/network/socket.h"
#include "runtime/transport.h"
#include "tests/support/temporary_folder.h"

namespace ripeline::testing_support {

// Calls run(0) to run(ranks - 1), each in its own thread, and waits for all of them.
void in_threads(int ranks, const std::function<void(int rank)>& run);

// The kind of a group's sockets.
enum class Sockets : std::uint8_t { of_host, tcp };

// Connects `ranks` socket transports that meet in `folder`; fails the test if one does not connect.
[[nodiscard]] std::vector<std::unique_ptr<runtime::Transport>> connect_group(
    int ranks, const std::string& folder, Sockets sockets = Sockets::of_host);

// Connects over TCP on this host; the processes meet in `folder`.
core::Status connect_by_tcp(runtime::network::SocketOptions options, const std::string& folder,
                            std::unique_ptr<runtime::Transport>& transport,
                            runtime::network::BufferPool* pool = nullptr);

// The token of the run whose rank 0 has joined in `folder`.
[[nodiscard]] std::uint64_t token_in(const std::string& folder);

[[nodiscard]] runtime::network::SocketOptions socket_options(int rank, int ranks);

}  // namespace ripeline::testing_support
