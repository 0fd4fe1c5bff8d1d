// Tests that run over each of the transports: `TEST_P(Name, …)` of a class that derives from it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/local.h"
#include "tests/runtime/ranks.h"

namespace ripeline::testing_support {

inline void expect_ok(const core::Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

// The parameter is the transport's name.
class EachTransport : public testing::TestWithParam<std::string> {
 protected:
  void make(int processes) {
    group_ = GetParam() == "local"
                 ? runtime::make_local_group(processes)
                 : connect_group(processes, folder_.path(),
                                 GetParam() == "tcp" ? Sockets::tcp : Sockets::of_host);
    for (const auto& transport : group_) ASSERT_NE(transport, nullptr);
  }
  runtime::Transport& of(int process) { return *group_[static_cast<std::size_t>(process)]; }
  void drop(int process) { group_[static_cast<std::size_t>(process)] = nullptr; }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<runtime::Transport>> group_;
};

inline auto each_transport() { return testing::Values("local", "socket", "tcp"); }
inline std::string transport_name(const testing::TestParamInfo<std::string>& test) {
  return test.param;
}

}  // namespace ripeline::testing_support
