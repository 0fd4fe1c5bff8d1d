// Tests gathers without transports: messages between processes arrive in any order that is allowed.
#include "runtime/protocol/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;

Blob mine(int process, int gather) {
  const auto size = static_cast<std::size_t>((process * 7 + gather * 3) % 20);
  Blob blob(size == 19 ? kLargestHead + 100 : size * 30);
  for (std::size_t i = 0; i < blob.size(); ++i) {
    blob[i] = static_cast<std::byte>(i + static_cast<std::size_t>(process + gather));
  }
  return blob;
}

Status give(Gathers& gathers, const Delivery& delivery) {
  const auto& gather = std::get<signals::Gather>(delivery.envelope.signal);
  return gathers.take(delivery.from, gather.number, delivery.payload);
}

// The messages between all processes; those from one process to another arrive in order.
class Network {
 public:
  explicit Network(int processes) {
    for (int p = 0; p < processes; ++p) all_.emplace_back(p, core::Layout{.ranks = processes});
  }
  Gathers& of(int process) { return all_[static_cast<std::size_t>(process)]; }
  void collect(int from) {
    std::vector<Outgoing> sends;
    of(from).take_outgoing(sends);
    for (Outgoing& out : sends) {
      ways_[{from, out.to}].push_back(
          {.from = from, .envelope = out.envelope, .payload = std::move(out.payload)});
    }
  }
  // Delivers the first message on the link that `draw` selects; returns false if none is under way.
  bool deliver(std::uint64_t draw) {
    std::vector<std::pair<int, int>> busy;
    for (const auto& [way, messages] : ways_) {
      if (!messages.empty()) busy.push_back(way);
    }
    if (busy.empty()) return false;
    const auto way = busy[draw % busy.size()];
    const Delivery delivery = std::move(ways_[way].front());
    ways_[way].pop_front();
    const Status status = give(of(way.second), delivery);
    EXPECT_TRUE(status.ok()) << status.message();
    collect(way.second);
    return true;
  }
  Delivery take_from(int from, int to) {
    Delivery delivery = std::move(ways_.at({from, to}).front());
    ways_.at({from, to}).pop_front();
    return delivery;
  }

 private:
  std::deque<Gathers> all_;
  std::map<std::pair<int, int>, std::deque<Delivery>> ways_;
};

TEST(Gathers, give_everyone_everything_in_any_order_of_events) {
  constexpr int kGathers = 4;
  for (int processes = 1; processes <= 9; ++processes) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(std::to_string(processes) + " processes, seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      Network network(processes);
      std::vector<int> begun(static_cast<std::size_t>(processes));
      std::vector<int> done(static_cast<std::size_t>(processes));
      int left = processes * kGathers;
      for (int event = 0; left > 0; ++event) {
        ASSERT_LT(event, 100'000) << "it does not end";
        const int p = static_cast<int>(random() % static_cast<std::uint64_t>(processes));
        const auto at = static_cast<std::size_t>(p);
        Gathers& gathers = network.of(p);
        if (random() % 3 == 0) {
          network.deliver(random());
        } else if (!gathers.is_active() && begun[at] < kGathers) {
          const int number = begun[at]++;
          ASSERT_TRUE(gathers.begin("tag " + std::to_string(number), mine(p, number)).ok());
          network.collect(p);
        } else if (gathers.is_done()) {
          EXPECT_EQ(gathers.waits_for(), -1);
          const std::vector<Blob> all = gathers.take();
          ASSERT_EQ(all.size(), static_cast<std::size_t>(processes));
          for (int other = 0; other < processes; ++other) {
            ASSERT_TRUE(all[static_cast<std::size_t>(other)] == mine(other, done[at]));
          }
          ++done[at];
          --left;
        } else if (gathers.is_active()) {
          const int other = gathers.waits_for();
          EXPECT_TRUE(other == (p - 1) / 2 || (other - 1) / 2 == p) << p << " for " << other;
        }
      }
      EXPECT_FALSE(network.deliver(0)) << "nothing is left";
    }
  }
}

TEST(Gathers, keep_the_part_of_a_child_that_is_one_ahead) {
  Network network(2);
  for (const int p : {0, 1}) EXPECT_TRUE(network.of(p).begin("first", mine(p, 0)).ok());
  network.collect(1);
  EXPECT_EQ(network.of(0).waits_for(), 1);
  EXPECT_TRUE(network.deliver(0));
  EXPECT_TRUE(network.deliver(0));
  EXPECT_EQ(network.of(1).take().size(), 2U);
  EXPECT_TRUE(network.of(1).begin("second", mine(1, 1)).ok());
  EXPECT_EQ(network.of(1).waits_for(), 0);
  network.collect(1);
  EXPECT_TRUE(network.deliver(0)) << "process 0 has not taken the first";
  EXPECT_EQ(network.of(0).take()[1], mine(1, 0));
  EXPECT_TRUE(network.of(0).begin("second", mine(0, 1)).ok());
  EXPECT_TRUE(network.of(0).is_done()) << "it was here";
  EXPECT_EQ(network.of(0).take()[1], mine(1, 1));
}

TEST(Gathers, of_one_process_are_done_at_once) {
  Gathers alone(0, {.ranks = 1});
  EXPECT_TRUE(alone.begin("it", mine(0, 5)).ok());
  EXPECT_TRUE(alone.is_done());
  EXPECT_EQ(alone.take(), std::vector<Blob>{mine(0, 5)});
}

TEST(Gathers, refuse_another_before_the_first_is_taken_and_too_long_a_tag) {
  Gathers gathers(0, {.ranks = 2});
  EXPECT_EQ(gathers.begin(std::string(257, 'x'), {}).code(), StatusCode::invalid);
  EXPECT_TRUE(gathers.begin("one", {}).ok());
  const Status status = gathers.begin("two", {});
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_EQ(status.message(), "'one' is being gathered already");
  EXPECT_EQ(gathers.tag(), "one");
}

TEST(Gathers, of_other_tags_are_refused_early_and_late) {
  const std::string kWanted =
      "rank 1 gathers 'theirs', rank 0 gathers 'mine': all ranks must gather the same, in the "
      "same order";
  for (const bool is_early : {false, true}) {
    Network network(2);
    EXPECT_TRUE(network.of(1).begin("theirs", {}).ok());
    network.collect(1);
    const Delivery theirs = network.take_from(1, 0);
    Status status;
    if (is_early) {
      EXPECT_TRUE(give(network.of(0), theirs).ok()) << "it may be the next one's";
      status = network.of(0).begin("mine", {});
    } else {
      EXPECT_TRUE(network.of(0).begin("mine", {}).ok());
      status = give(network.of(0), theirs);
    }
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_EQ(status.message(), kWanted);
  }
}

// Process 1 of five in its second gather: its parent is 0, and its children are 3 and 4.
class GarbageTest : public testing::Test {
 protected:
  void SetUp() override {
    begin_all("first");
    while (network_.deliver(0)) {
    }
    for (int p = 0; p < 5; ++p) EXPECT_EQ(network_.of(p).take().size(), 5U);
    begin_all("second");
    from_3_ = network_.take_from(3, 1);
  }
  void begin_all(const std::string& tag) {
    for (int p = 0; p < 5; ++p) {
      EXPECT_TRUE(network_.of(p).begin(tag, mine(p, 0)).ok());
      network_.collect(p);
    }
  }
  // Expects that the delivery is refused and that the gather continues as if it had not arrived.
  void expect_refused(const Delivery& delivery, const std::string& why) {
    SCOPED_TRACE(why);
    const Status status = give(network_.of(1), delivery);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(network_.of(1).waits_for(), 3);
  }
  void TearDown() override {
    const Status status = give(network_.of(1), from_3_);
    EXPECT_TRUE(status.ok()) << status.message();
    network_.collect(1);
    while (network_.deliver(0)) {
    }
    for (int p = 0; p < 5; ++p) {
      ASSERT_TRUE(network_.of(p).is_done()) << p;
      const std::vector<Blob> all = network_.of(p).take();
      for (int other = 0; other < 5; ++other) {
        EXPECT_TRUE(all[static_cast<std::size_t>(other)] == mine(other, 0));
      }
    }
  }
  // A message that another process would send, in this gather or in another one.
  static Delivery message(int from, std::int64_t number, const std::string& tag,
                          const std::map<int, Blob>& blobs) {
    Blob bytes;
    const auto write = [&bytes](std::uint64_t value, int size) {
      for (int i = 0; i < size; ++i) {
        bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
      }
    };
    write(tag.size(), 4);
    for (const char c : tag) bytes.push_back(static_cast<std::byte>(c));
    write(blobs.size(), 4);
    for (const auto& [process, blob] : blobs) {
      write(static_cast<std::uint64_t>(process), 4);
      write(blob.size(), 8);
      bytes.insert(bytes.end(), blob.begin(), blob.end());
    }
    return {.from = from,
            .envelope = {.signal = signals::Gather{number}},
            .payload = payload_of(std::move(bytes))};
  }

  Network network_{5};
  Delivery from_3_;
};

TEST_F(GarbageTest, of_strangers_is_refused) {
  for (const int from : {-1, 1, 2, 5, 1000}) {
    Delivery delivery = from_3_;
    delivery.from = from;
    expect_refused(delivery, "rank " + std::to_string(from) + " sent a gather that is not its");
  }
}

TEST_F(GarbageTest, of_another_gather_is_refused) {
  for (const std::int64_t number : {-1, 0, 3, 1'000'000}) {
    Delivery delivery = from_3_;
    delivery.envelope.signal = signals::Gather{number};
    expect_refused(delivery, "but 1 is the present one");
  }
}

TEST_F(GarbageTest, of_another_tag_is_refused) {
  expect_refused(message(3, 1, "third", {{3, mine(3, 0)}}), "rank 3 gathers 'third'");
}

TEST_F(GarbageTest, of_parts_that_are_not_the_senders_is_refused) {
  const std::string kWhy = "a gather of other ranks' parts than it has to give";
  expect_refused(message(3, 1, "second", {}), kWhy);
  expect_refused(message(3, 1, "second", {{1, {}}}), kWhy);
  expect_refused(message(3, 1, "second", {{4, {}}}), kWhy);
  expect_refused(message(3, 1, "second", {{0, {}}, {3, mine(3, 0)}}), kWhy);
  expect_refused(message(3, 1, "second", {{-1, {}}}), "of a rank that there is not");
  expect_refused(message(3, 1, "second", {{5, {}}}), "of a rank that there is not");
}

// A parent cannot have all contributions before this process has sent its own.
TEST_F(GarbageTest, of_a_parent_that_cannot_have_all_yet_is_refused) {
  std::map<int, Blob> all;
  for (int p = 0; p < 5; ++p) all[p] = {};
  expect_refused(message(0, 1, "second", all), "but 1 is the present one");
  expect_refused(message(0, 2, "third", all), "but 1 is the present one");
}

TEST_F(GarbageTest, of_a_form_that_is_none_is_refused) {
  const Blob good = blob_of(from_3_.payload);
  ASSERT_GT(good.size(), 50U);
  for (std::size_t size = 0; size < good.size(); ++size) {
    Delivery cut = from_3_;
    cut.payload = payload_of({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    expect_refused(cut, "rank 3 sent a gather that is");
  }
  Delivery longer = from_3_;
  Blob more = good;
  more.push_back({});
  longer.payload = payload_of(std::move(more));
  expect_refused(longer, "a gather that is not one");
  expect_refused(message(3, 1, std::string(300, 'x'), {{3, {}}}), "a gather that is not one");
}

TEST_F(GarbageTest, at_random_never_crashes) {
  std::mt19937_64 random(3);  // the seed
  const Blob good = blob_of(from_3_.payload);
  for (int round = 0; round < 20'000; ++round) {
    Blob bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % 24] = static_cast<std::byte>(random());
    if (round % 2 == 0) bytes.resize(random() % (good.size() + 8));
    Delivery delivery = from_3_;
    delivery.from = static_cast<int>(random() % 2 == 0 ? 2 : 0);
    delivery.payload = payload_of(std::move(bytes));
    EXPECT_FALSE(give(network_.of(1), delivery).ok());
  }
}

}  // namespace
}  // namespace ripeline::runtime::protocol
