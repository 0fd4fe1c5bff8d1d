#include "runtime/network/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace ripeline::runtime::network {
namespace {

TEST(HostBufferPool, gives_room_that_is_aligned_and_as_long_as_asked) {
  HostBufferPool pool;
  std::vector<Bytes> all;
  for (const std::size_t size : {0, 1, 63, 64, 65, 1000, 4097, 65'536, 1'000'001}) {
    const Bytes& bytes = all.emplace_back(pool.take(0, size));
    ASSERT_NE(bytes.data, nullptr);
    EXPECT_EQ(bytes.size, size);
    EXPECT_EQ(bytes.device, -1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data) % 64, 0U);
    std::memset(bytes.data, static_cast<int>(all.size()), size);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t at = 0; at < all[i].size; ++at) {
      ASSERT_EQ(std::to_integer<std::size_t>(all[i].data[at]), i + 1) << "they do not overlap";
    }
  }
}

TEST(HostBufferPool, gives_a_buffer_again_when_its_last_copy_has_ended) {
  HostBufferPool pool;
  Bytes first = pool.take(3, 100'000);
  std::byte* const where = first.data;
  Bytes copy = first;
  first = {};
  const Bytes other = pool.take(3, 100'000);
  EXPECT_NE(other.data, where) << "the copy still has it";
  copy = {};
  EXPECT_GT(pool.free(), 0U);
  const Bytes again = pool.take(-1, 100'000);
  EXPECT_EQ(again.data, where);
  EXPECT_EQ(pool.free(), 0U);
}

TEST(HostBufferPool, gives_a_buffer_again_for_a_size_that_is_a_little_less) {
  HostBufferPool pool;
  std::byte* const where = pool.take(0, 100'000).data;
  EXPECT_EQ(pool.take(0, 99'500).data, where);
}

TEST(HostBufferPool, has_no_room_that_there_cannot_be) {
  HostBufferPool pool;
  const std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t size : {kMost, kMost - 63, kMost / 2}) {
    EXPECT_EQ(pool.take(0, size).data, nullptr) << size;
  }
  EXPECT_EQ(pool.taken(), 0U);
}

TEST(HostBufferPool, keeps_no_more_than_twice_what_was_taken_at_once) {
  HostBufferPool pool;
  std::mt19937_64 random(5);  // the seed
  std::vector<Bytes> out;
  std::size_t most = 0;
  std::size_t asked = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Sizes grow slowly, as in a program that trains on longer and longer texts.
    if (out.size() < 10 && random() % 2 == 0) {
      out.push_back(pool.take(0, 1 + random() % 5000 + static_cast<std::size_t>(i)));
      asked += out.back().size;
    } else if (!out.empty()) {
      std::swap(out[random() % out.size()], out.back());
      asked -= out.back().size;
      out.pop_back();
    }
    most = std::max(most, pool.taken());
    ASSERT_LE(pool.free(), 2 * most);
    ASSERT_GE(pool.taken(), asked);
    ASSERT_LE(pool.taken(), asked + asked / 8 + 64 * out.size()) << "an eighth is lost at most";
  }
  out.clear();
  EXPECT_EQ(pool.taken(), 0U);
}

// Buffers of sizes that nobody takes any more must not displace buffers of sizes that are taken.
TEST(HostBufferPool, gives_up_buffers_of_sizes_that_come_no_more) {
  HostBufferPool pool;
  pool.take(0, 1 << 20);
  const std::size_t most = pool.free();
  EXPECT_GE(most, std::size_t{1} << 20);
  pool.take(0, 900 * 1000);
  EXPECT_GT(pool.free(), most) << "of both sizes";
  std::byte* small = pool.take(0, 1000).data;
  EXPECT_EQ(pool.take(0, 1000).data, small);
  pool.take(0, 500 * 1000);
  EXPECT_EQ(pool.take(0, 1000).data, small);
  EXPECT_LE(pool.free(), 2 * most);
}

// Each step first takes buffers for offloads; after their release it takes buffers for messages.
TEST(HostBufferPool, makes_nothing_anew_of_two_kinds_that_are_out_one_after_the_other) {
  static int made = 0;
  made = 0;
  HostBufferPool pool({.take =
                           [](std::size_t size) {
                             ++made;
                             return std::aligned_alloc(64, size);
                           },
                       .give = [](void* buffer) { std::free(buffer); }});
  for (int step = 0; step < 5; ++step) {
    for (const auto& [count, size] : {std::pair{6, 800'000}, {8, 25'000}}) {
      std::vector<Bytes> out;
      for (int i = 0; i < count; ++i) out.push_back(pool.take(0, static_cast<std::size_t>(size)));
    }
    EXPECT_EQ(made, 14);
  }
}

TEST(HostBufferPool, may_end_before_what_it_gave) {
  Bytes kept;
  {
    HostBufferPool pool;
    kept = pool.take(0, 1000);
  }
  std::memset(kept.data, 1, kept.size);
}

TEST(HostBufferPool, takes_back_what_ends_in_other_threads) {
  HostBufferPool pool;
  std::vector<std::thread> threads;
  for (int round = 0; round < 200; ++round) {
    std::vector<Bytes> sent;
    for (int i = 0; i < 4; ++i) sent.push_back(pool.take(0, 5000));
    threads.emplace_back([sent = std::move(sent)]() mutable {
      for (Bytes& bytes : sent) {
        std::memset(bytes.data, 1, bytes.size);
        bytes = {};
      }
    });
    if (threads.size() < 4) continue;
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  EXPECT_EQ(pool.taken(), 0U);
  EXPECT_GT(pool.free(), 0U);
}

}  // namespace
}  // namespace ripeline::runtime::network
