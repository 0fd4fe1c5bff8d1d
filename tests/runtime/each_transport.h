// The fixture of tests that run over each of the transports, as TEST_P(Name, …) of a derived class.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/network/buffer_pool.h"
#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

inline void expect_ok(const core::Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

// The settings of a transport in a test; all other settings have the defaults of connect().
struct TransportOptions {
  runtime::network::BufferPool* pool = nullptr;  // for process 0
  std::uint64_t largest_payload = std::uint64_t{1} << 32;
  std::chrono::nanoseconds heartbeat = std::chrono::milliseconds(500);
};

// Connects one process over the transport `name` (not `local`) while the other processes of the
// group do the same. Call prepare(name) before any thread of the group runs.
void prepare(const std::string& name);
[[nodiscard]] core::Status connect(const std::string& name, int process, int processes,
                                   const std::string& folder, const TransportOptions& options,
                                   std::unique_ptr<runtime::Transport>& transport);

// The parameter is the transport's name.
class EachTransport : public testing::TestWithParam<std::string> {
 protected:
  // Skips the test if this build lacks the transport.
  void SetUp() override;
  void make(int processes, const TransportOptions& options = {});
  // Makes process 0 of two; process 1 is the program tests/runtime/transport_peer_main.
  void make_first();
  runtime::Transport& of(int process) { return *group_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] int size() const { return static_cast<int>(group_.size()); }
  [[nodiscard]] bool is_there(int process) const {
    return group_[static_cast<std::size_t>(process)] != nullptr;
  }
  void drop(int process) { group_[static_cast<std::size_t>(process)] = nullptr; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<runtime::Transport>> group_;
};

inline auto each_transport() {
  return testing::Values("local", "unix", "tcp", "ucx_memory", "ucx_tcp");
}
// The transports over which processes can also be separate programs.
inline auto each_transport_of_processes() {
  return testing::Values("unix", "tcp", "ucx_memory", "ucx_tcp");
}
inline std::string transport_name(const testing::TestParamInfo<std::string>& test) {
  return test.param;
}

}  // namespace ripeline::testing_support
