// wire_up: connects every rank with every other. Private to transport/socket.
//
// A rank listens at `folder`/rank-N and connects to the ranks below its own; both sides open with a
// hello. Strangers are dropped and the listening goes on: another user's process, another run's,
// one that breaks the format or says nothing.
#pragma once

#include <memory>
#include <vector>

#include <asio/io_context.hpp>

#include "runtime/transport/connection.h"
#include "runtime/transport/socket.h"

namespace ripeline::runtime {

// connections[rank], empty at the own. Fails by status: which ranks did not come, or how one does
// not fit.
core::Status wire_up(asio::io_context& io, const SocketOptions& options,
                     std::vector<std::shared_ptr<Connection>>& connections,
                     std::vector<std::deque<Frame>>& early);

}  // namespace ripeline::runtime
