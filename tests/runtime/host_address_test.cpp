#include "runtime/network/host_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ripeline::runtime::network {
namespace {

using core::StatusCode;
using testing::HasSubstr;

TEST(HostAddress, reads_the_first_of_the_hosts_that_slurm_lists) {
  const struct {
    const char* list;
    const char* first;
  } kCases[] = {
      {"node", "node"},
      {"node-1,node-2", "node-1"},
      {"node[03-05,07],other-1", "node03"},
      {"node[7,3-5]", "node7"},
      {"rack[1-2]node[08-09]", "rack1node08"},
      {"n[1-2]-ib,x", "n1-ib"},
      {"", ""},
      {",node", ""},
      {"node[", ""},
      {"node[]", ""},
      {"node]3", ""},
      {"node[-3]", ""},
  };
  for (const auto& [list, first] : kCases) EXPECT_EQ(first_host(list), first) << list;
}

TEST(HostAddress, tells_numbers_from_names) {
  for (const char* text : {"10.0.0.1", "::1", "fd00::7"}) EXPECT_TRUE(is_numeric_address(text));
  for (const char* text : {"", "node", "10.0.0", "10.0.0.1:80", "[::1]"}) {
    EXPECT_FALSE(is_numeric_address(text)) << text;
  }
}

TEST(HostAddress, refuses_the_address_that_only_this_host_has) {
  std::string address;
  const core::Status status = address_towards("localhost", address);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_THAT(status.message(), HasSubstr("this host would reach localhost from "));
  EXPECT_EQ(address_towards("no host has this name", address).code(), StatusCode::failed);
  EXPECT_EQ(address, "");
}

}  // namespace
}  // namespace ripeline::runtime::network
