// What every transport does, over each of them.
#include "runtime/transport/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "runtime/transport/local.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::in_threads;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Payload bytes(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Envelope envelope(int edge, int microbatch, std::int64_t step = 0) {
  return {.step = step, .message = {edge, microbatch}, .sent = core::Time{microbatch}};
}

void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

// Polls until `count` deliveries are there or the transport fails.
Status receive(Transport& transport, std::size_t count, std::vector<Delivery>& deliveries) {
  const Clock::time_point limit = Clock::now() + 60s;
  while (deliveries.size() < count && Clock::now() < limit) {
    if (Status s = transport.poll(100ms, deliveries); !s.ok()) return s;
  }
  EXPECT_EQ(deliveries.size(), count);
  return {};
}

// Polls until the transport fails.
Status failure(Transport& transport) {
  std::vector<Delivery> deliveries;
  const Clock::time_point limit = Clock::now() + 60s;
  while (Clock::now() < limit) {
    if (Status s = transport.poll(100ms, deliveries); !s.ok()) return s;
  }
  return {};
}

class TransportTest : public testing::TestWithParam<std::string> {
 protected:
  void make(int ranks) {
    group_ = GetParam() == "local" ? make_local_group(ranks)
                                   : testing_support::connect_group(ranks, folder_.path());
    for (const auto& transport : group_) ASSERT_NE(transport, nullptr);
  }
  Transport& of(int rank) { return *group_[static_cast<std::size_t>(rank)]; }
  void drop(int rank) { group_[static_cast<std::size_t>(rank)] = nullptr; }

  testing_support::TemporaryFolder folder_;
  std::vector<std::unique_ptr<Transport>> group_;
};

INSTANTIATE_TEST_SUITE_P(each, TransportTest, testing::Values("local", "socket"),
                         [](const auto& test) { return test.param; });

TEST_P(TransportTest, knows_its_rank_and_refuses_a_wrong_one) {
  make(2);
  EXPECT_EQ(of(1).rank(), 1);
  EXPECT_EQ(of(1).ranks(), 2);
  for (const int to : {-1, 1, 2}) {
    EXPECT_EQ(of(1).send(to, envelope(0, 0), {}).code(), StatusCode::invalid);
  }
  expect_ok(of(1).send(0, envelope(0, 0), {}));
}

TEST_P(TransportTest, carries_small_messages_whole_and_in_order) {
  make(2);
  constexpr int kMessages = 500;
  in_threads(2, [&](int rank) {
    for (int m = 0; m < kMessages; ++m) {
      expect_ok(of(rank).send(1 - rank, envelope(7, m, 3),
                              bytes(std::string(static_cast<std::size_t>(m % 9), 'x'))));
    }
    std::vector<Delivery> got;
    expect_ok(receive(of(rank), kMessages, got));
    for (int m = 0; m < kMessages; ++m) {
      const Delivery& delivery = got[static_cast<std::size_t>(m)];
      EXPECT_EQ(delivery.envelope.step, 3);
      EXPECT_EQ(delivery.envelope.message, (core::Message{7, m}));
      EXPECT_EQ(delivery.envelope.sent, core::Time{m});
      EXPECT_EQ(delivery.payload, bytes(std::string(static_cast<std::size_t>(m % 9), 'x')));
    }
    expect_ok(of(rank).finish(60s));
  });
}

TEST_P(TransportTest, carries_big_payloads_both_ways_at_once) {
  make(2);
  constexpr std::size_t kBytes = 32 << 20;
  in_threads(2, [&](int rank) {
    Payload payload(kBytes, static_cast<std::byte>(10 + rank));
    payload.back() = std::byte{255};
    expect_ok(of(rank).send(1 - rank, envelope(0, 0), std::move(payload)));
    std::vector<Delivery> got;
    expect_ok(receive(of(rank), 1, got));
    Payload expected(kBytes, static_cast<std::byte>(10 + 1 - rank));
    expected.back() = std::byte{255};
    ASSERT_EQ(got.size(), 1U);
    EXPECT_TRUE(got[0].payload == expected);
    expect_ok(of(rank).finish(60s));
  });
}

TEST_P(TransportTest, keeps_messages_until_they_are_polled) {
  make(2);
  expect_ok(of(0).send(1, envelope(1, 1), bytes("early")));
  std::vector<std::vector<Payload>> all(2);
  in_threads(2, [&](int rank) {
    expect_ok(of(rank).all_gather({}, 60s, all[static_cast<std::size_t>(rank)]));
  });
  std::vector<Delivery> got;
  expect_ok(of(1).poll(0ns, got));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].payload, bytes("early"));
}

TEST_P(TransportTest, returns_with_nothing_when_nothing_comes) {
  make(2);
  std::vector<Delivery> got;
  const Clock::time_point start = Clock::now();
  expect_ok(of(0).poll(30ms, got));
  EXPECT_TRUE(got.empty());
  EXPECT_GE(Clock::now() - start, 29ms);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_P(TransportTest, gathers_by_rank_again_and_again) {
  make(3);
  in_threads(3, [&](int rank) {
    for (int call = 0; call < 50; ++call) {
      std::vector<Payload> all;
      const std::string suffix = "/" + std::to_string(call);
      expect_ok(of(rank).all_gather(bytes(std::to_string(rank) + suffix), 60s, all));
      EXPECT_EQ(all, (std::vector{bytes("0" + suffix), bytes("1" + suffix), bytes("2" + suffix)}));
    }
    expect_ok(of(rank).finish(60s));
  });
}

TEST_P(TransportTest, of_one_rank_gathers_and_finishes) {
  make(1);
  std::vector<Payload> all;
  expect_ok(of(0).all_gather(bytes("me"), 1s, all));
  EXPECT_EQ(all, std::vector<Payload>{bytes("me")});
  expect_ok(of(0).finish(1s));
}

TEST_P(TransportTest, is_no_loss_after_finish) {
  make(3);
  in_threads(3, [&](int rank) {
    expect_ok(of(rank).finish(60s));
    drop(rank);
  });
}

TEST_P(TransportTest, names_a_rank_that_was_lost_and_fails_ever_after) {
  make(3);
  drop(1);
  const Status status = failure(of(0));
  EXPECT_EQ(status.code(), StatusCode::lost);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 was lost"));
  std::vector<Payload> all;
  EXPECT_EQ(of(0).all_gather({}, 1s, all).message(), status.message());
  EXPECT_EQ(of(0).send(2, envelope(0, 0), {}).message(), status.message());
  EXPECT_EQ(of(0).finish(1s).message(), status.message());
  EXPECT_THAT(of(2).all_gather({}, 60s, all).message(), HasSubstr("rank 1 was lost"));
}

TEST_P(TransportTest, delivers_what_a_lost_rank_sent_before) {
  make(2);
  expect_ok(of(1).send(0, envelope(0, 4), bytes("last")));
  drop(1);
  std::vector<Delivery> got;
  expect_ok(receive(of(0), 1, got));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].payload, bytes("last"));
  EXPECT_EQ(failure(of(0)).code(), StatusCode::lost);
}

TEST_P(TransportTest, names_the_cause_of_a_rank_that_stops) {
  make(3);
  of(2).abandon({StatusCode::failed, "2F0 failed: no memory"});
  std::vector<Delivery> got;
  EXPECT_FALSE(of(2).poll(0ns, got).ok()) << "it has stopped itself";
  EXPECT_FALSE(of(2).send(0, envelope(0, 0), {}).ok());
  drop(2);
  for (const int rank : {0, 1}) {
    const Status status = failure(of(rank));
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_EQ(status.message(), "rank 2 stopped: 2F0 failed: no memory");
  }
}

TEST_P(TransportTest, names_the_cause_and_not_the_messenger) {
  make(3);
  drop(0);
  of(1).abandon(failure(of(1)));
  std::this_thread::sleep_for(20ms);
  EXPECT_THAT(failure(of(2)).message(), HasSubstr("rank 0 was lost"));
}

TEST_P(TransportTest, limits_the_wait_for_a_gather_and_for_the_end) {
  make(2);
  std::vector<Payload> all;
  const Status gathered = of(0).all_gather({}, 50ms, all);
  EXPECT_EQ(gathered.code(), StatusCode::timeout);
  EXPECT_THAT(gathered.message(), HasSubstr("rank 0 waited 0.05 s for rank 1"));
  const Status finished = of(1).finish(50ms);
  EXPECT_EQ(finished.code(), StatusCode::timeout);
  EXPECT_THAT(finished.message(), HasSubstr("rank 1 waited 0.05 s for rank 0"));
}

TEST_P(TransportTest, wakes_when_a_message_comes) {
  make(2);
  in_threads(2, [&](int rank) {
    if (rank == 0) {
      std::this_thread::sleep_for(50ms);
      expect_ok(of(0).send(1, envelope(0, 0), {}));
    } else {
      std::vector<Delivery> got;
      const Clock::time_point start = Clock::now();
      expect_ok(of(1).poll(100s, got));
      EXPECT_EQ(got.size(), 1U);
      EXPECT_LT(Clock::now() - start, 60s);
    }
  });
}

}  // namespace
}  // namespace ripeline::runtime
