#include "runtime/network/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/un.h>

namespace ripeline::runtime::network {
namespace {

using testing::HasSubstr;

TEST(Address, is_printed_as_it_was_written) {
  for (const std::string text : {"unix:/tmp/run/socket-3", "tcp:10.0.0.1:0", "tcp:127.0.0.1:65535",
                                 "tcp:[::1]:4567", "tcp:[fd00::12]:0"}) {
    Address address;
    ASSERT_TRUE(parse_address(text, address).ok()) << text;
    EXPECT_EQ(print_address(address), text);
    EXPECT_EQ(address.is_of_host(), text.starts_with("unix:"));
  }
}

TEST(Address, says_what_was_expected) {
  for (const std::string text :
       {"", "tcp:", "tcp:10.0.0.1", "tcp:10.0.0.1:", "tcp:10.0.0.1:65536", "tcp:10.0.0.1:-1",
        "tcp:host:1", "tcp:10.0.0:1", "tcp:::1:1", "tcp:[::1:1", "tcp:[10.0.0.1]:1",
        "udp:1.2.3.4:5", "/tmp/socket", "tcp:10.0.0.1:12x"}) {
    Address address;
    const core::Status status = parse_address(text, address);
    EXPECT_EQ(status.code(), core::StatusCode::invalid) << text;
    EXPECT_THAT(status.message(), HasSubstr("'" + text + "': expected the address of a socket"));
  }
  Address address;
  EXPECT_THAT(parse_address("unix:", address).message(), HasSubstr("expected a path"));
  const std::string longest(sizeof(sockaddr_un::sun_path) - 1, 'x');
  EXPECT_TRUE(parse_address("unix:" + longest, address).ok());
  EXPECT_THAT(parse_address("unix:x" + longest, address).message(), HasSubstr("too long"));
}

}  // namespace
}  // namespace ripeline::runtime::network
