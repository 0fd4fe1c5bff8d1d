#include "simulate/agenda.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "core/draw.h"

namespace ripeline::simulate {
namespace {

using core::Time;
using Kind = AgendaEvent::Kind;

std::vector<int> take_all(Agenda& agenda) {
  std::vector<int> taken;
  while (!agenda.empty()) taken.push_back(agenda.take().what);
  return taken;
}

TEST(Agenda, comes_out_by_time_and_of_one_time_as_put_in) {
  Agenda agenda;
  EXPECT_TRUE(agenda.empty());
  EXPECT_EQ(agenda.next_time(), Time::max());
  agenda.put(Time{0}, Time{5}, Kind::finished, 0);
  agenda.put(Time{0}, Time{3}, Kind::finished, 1);
  agenda.put(Time{1}, Time{4}, Kind::finished, 2);  // due at time 5, as event number 1
  agenda.put(Time{1}, Time{2}, Kind::arrived, 3, 7, 2);
  EXPECT_EQ(agenda.next_time(), Time{3});
  EXPECT_EQ(agenda.take().what, 1);
  const AgendaEvent arrived = agenda.take();
  EXPECT_EQ(arrived.what, 3);
  EXPECT_EQ(arrived.kind, Kind::arrived);
  EXPECT_EQ(arrived.at, Time{3});
  EXPECT_EQ(arrived.sent, Time{1});
  EXPECT_EQ(arrived.microbatch, 7);
  EXPECT_EQ(arrived.ordinal, 2);
  EXPECT_EQ(take_all(agenda), (std::vector{0, 2}));
}

TEST(Agenda, forgets_all_when_cleared) {
  Agenda agenda;
  for (int i = 0; i < 100; ++i) agenda.put(Time{0}, Time{i}, Kind::wake, i);
  EXPECT_EQ(agenda.take().what, 0);
  EXPECT_EQ(agenda.size(), 99U);
  agenda.clear();
  EXPECT_TRUE(agenda.empty());
  EXPECT_EQ(agenda.size(), 0U);
  agenda.put(Time{0}, Time{9}, Kind::wake, 1);
  agenda.put(Time{0}, Time{8}, Kind::wake, 2);
  EXPECT_EQ(take_all(agenda), (std::vector{2, 1}));
}

// The agenda keeps few different delays in queues, many in its heap, and a medium number in both.
TEST(Agenda, agrees_with_a_stable_sort) {
  for (const std::uint64_t delays : {1U, 2U, 5U, 7U, 12U, 1000U}) {
    SCOPED_TRACE(delays);
    Agenda agenda;
    std::vector<std::pair<Time, int>> expected;  // in the order of put() calls
    std::vector<std::pair<Time, int>> taken;
    Time now{0};
    for (int i = 0; i < 5000; ++i) {
      const auto bits = [&](std::uint64_t what) {
        return core::draw_bits(delays, {static_cast<std::uint64_t>(i), what});
      };
      const Time delay{static_cast<std::int64_t>(bits(0) % delays * 3)};
      agenda.put(now, delay, Kind::finished, i);
      expected.emplace_back(now + delay, i);
      // On average as many are taken as put, in bursts; so rings fill, wrap around and get empty.
      for (std::uint64_t n = bits(1) % 8 == 0 ? bits(2) % 17 : 0; n > 0 && !agenda.empty(); --n) {
        now = agenda.next_time();
        taken.emplace_back(now, agenda.take().what);
      }
    }
    while (!agenda.empty()) {
      now = agenda.next_time();
      taken.emplace_back(now, agenda.take().what);
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    EXPECT_EQ(taken, expected);
  }
}

}  // namespace
}  // namespace ripeline::simulate
