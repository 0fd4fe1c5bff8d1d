#include "tests/runtime/each_transport.h"

#include <cstdlib>

#include "runtime/network/local.h"
#include "runtime/network/socket.h"
#include "runtime/network/ucx.h"

namespace ripeline::testing_support {
namespace {

bool is_ucx(const std::string& name) { return name.starts_with("ucx_"); }

}  // namespace

void prepare(const std::string& name) {
  setenv("UCX_TLS", name == "ucx_tcp" ? "tcp,self" : "posix,cma,self", 1);
  setenv("UCX_NET_DEVICES", name == "ucx_tcp" ? "lo" : "all", 1);
  // UCX's memory hooks do not work with the thread sanitizer.
  setenv("UCX_MEM_EVENTS", "n", 1);
}

core::Status connect(const std::string& name, int process, int processes, const std::string& folder,
                     const TransportOptions& options,
                     std::unique_ptr<runtime::Transport>& transport) {
  runtime::network::SocketOptions sockets = socket_options(process, processes);
  sockets.largest_payload = options.largest_payload;
  sockets.heartbeat = options.heartbeat;
  runtime::network::BufferPool* pool = process == 0 ? options.pool : nullptr;
  core::Status status = name == "tcp"
                            ? connect_by_tcp(sockets, folder, transport, pool)
                            : runtime::network::connect_in_folder(sockets, folder, transport, pool);
  if (!status.ok() || !is_ucx(name)) return status;
  return runtime::network::connect_ucx({.largest_payload = options.largest_payload}, transport,
                                       pool);
}

void EachTransport::SetUp() {
  if (is_ucx(GetParam()) && !runtime::network::has_ucx()) GTEST_SKIP() << "built without UCX";
}

void EachTransport::make(int processes, const TransportOptions& options) {
  if (GetParam() == "local") {
    group_ = runtime::network::make_local_group(processes);
    return;
  }
  prepare(GetParam());
  group_.clear();
  group_.resize(static_cast<std::size_t>(processes));
  in_threads(processes, [&](int process) {
    expect_ok(connect(GetParam(), process, processes, folder_.path(), options,
                      group_[static_cast<std::size_t>(process)]));
  });
  for (const auto& transport : group_) ASSERT_NE(transport, nullptr);
}

void EachTransport::make_first() {
  prepare(GetParam());
  group_.clear();
  group_.resize(2);
  expect_ok(connect(GetParam(), 0, 2, folder_.path(), {}, group_[0]));
  ASSERT_NE(group_[0], nullptr);
}

}  // namespace ripeline::testing_support
