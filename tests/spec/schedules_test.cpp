// Tests the time and the memory of the library's fixed orders: compares both with closed forms and
// published figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/support/makespan.h"

namespace ripeline::spec {
namespace {

using Defines = std::map<std::string, std::int64_t>;

Program schedule(const std::string& name, const Defines& defines) {
  const Source source{name, library_text(name).value_or("")};
  ElaborateOptions options;
  for (const auto& [param, value] : defines) options.defines[param] = value;
  auto program = compile(source, options);
  EXPECT_TRUE(program.ok()) << render(source, program.errors());
  return program.value();
}

struct Costs {
  std::int64_t f = 1;
  std::int64_t i = 1;
  std::int64_t w = 1;
  std::int64_t c = 0;
};

Makespan time_of(const std::string& name, Defines defines, const Costs& costs, int m) {
  const Program program = [&] {
    defines["f"] = costs.f;
    if (library_text(name)->find("param b") != std::string::npos) {
      defines["b"] = costs.i + costs.w;
    } else {
      defines["i"] = costs.i;
      defines["w"] = costs.w;
    }
    return schedule(name, defines);
  }();
  const auto found = makespan_of(program, m, costs.c);
  EXPECT_TRUE(found.has_value()) << name << ", " << m << " microbatches";
  return found.value_or(Makespan{});
}

std::int64_t largest(const Makespan& found) {
  return *std::max_element(found.peaks.begin(), found.peaks.end());
}

constexpr Costs kAll[] = {{1, 1, 1, 0}, {3, 4, 2, 0}, {18, 18, 9, 0}, {20, 21, 14, 0}};
constexpr int kRanks[] = {1, 2, 3, 4, 5, 8, 16, 32};

std::vector<int> counts(int p) {
  if (p == 32) return {2 * p};  // with other counts the test takes long
  return {2 * p, 2 * p + 1, 3 * p, 8 * p};
}

TEST(Schedules, one_f_one_b_and_gpipe_have_the_bubble_of_a_chain) {
  for (const int p : kRanks) {
    for (const int m : counts(p)) {
      for (const Costs& x : kAll) {
        const std::int64_t bubble = (p - 1) * (x.f + x.i + x.w);
        for (const char* name : {"1f1b", "gpipe", "eager_1f1b"}) {
          const Makespan found = time_of(name, {{"ranks", p}}, x, m);
          EXPECT_EQ(found.makespan - found.work, bubble) << name << p << " " << m;
          for (int s = 0; s < p; ++s) {
            const std::int64_t peak = name[0] == '1' ? p - s : name[0] == 'g' ? m : 2 * (p - s) - 1;
            EXPECT_EQ(found.peaks[static_cast<std::size_t>(s)], peak) << name << p << " " << m;
          }
        }
      }
    }
  }
}

TEST(Schedules, one_f_one_b_with_latency) {
  for (const int p : {2, 3, 4, 8, 16, 32}) {
    for (const int groups : {1, 2, 5, 8}) {
      const Makespan found = time_of("1f1b", {{"ranks", p}}, {10, 11, 9, 1}, groups * p);
      const std::int64_t extra = 2 * groups * (p - 1) + 2 * p - 4;
      EXPECT_EQ(found.makespan - found.work, (p - 1) * 30 + extra) << p << " x " << groups;
    }
  }
}

// The bubble is the same if ranks do not divide the microbatches; the first group takes the rest.
TEST(Schedules, interleaved_1f1b_has_the_same_bubble_for_every_number_of_microbatches) {
  for (const int p : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int v : {1, 2, 3, 4}) {
      for (const int m : {p, p + 1, 2 * p - 1, 2 * p, 3 * p - 1, 4 * p + p / 2, 6 * p}) {
        const Defines defines = {{"ranks", p}, {"chunks", v}};
        const Makespan found = time_of("interleaved_1f1b", defines, {2, 3, 1, 0}, m);
        EXPECT_EQ(found.makespan - found.work, (p - 1) * 6) << p << " " << v << " " << m;
        for (int r = 0; m % p == 0 && m > p && r < p; ++r) {
          const std::int64_t peak = std::min(2 * (p - 1 - r) + (v - 1) * p + 1, m * v);
          EXPECT_EQ(found.peaks[static_cast<std::size_t>(r)], peak) << p << " " << v << " " << m;
        }
      }
    }
  }
}

TEST(Schedules, zb_h1_and_zb_h2_have_their_bubbles_and_peaks) {
  for (const int p : kRanks) {
    for (const int m : counts(p)) {
      for (Costs x : kAll) {
        for (const std::int64_t latency : {std::int64_t{0}, x.w / 2}) {
          x.c = latency;
          const Makespan h1 = time_of("zb_h1", {{"ranks", p}}, x, m);
          EXPECT_EQ(h1.makespan - h1.work, (p - 1) * (x.f + x.i - x.w + 4 * x.c)) << p << " " << m;
          EXPECT_EQ(largest(h1), p);
          const Makespan h2 = time_of("zb_h2", {{"ranks", p}}, x, m);
          EXPECT_EQ(h2.span - h2.work, (p - 1) * (x.f + x.i - 2 * x.w + 2 * x.c)) << p << " " << m;
          EXPECT_EQ(largest(h2), 2 * p - 1);
        }
      }
    }
  }
}

TEST(Schedules, v_placements_have_their_bubbles_and_peaks_at_equal_costs) {
  for (const int p : kRanks) {
    for (const int m : counts(p)) {
      const Makespan zb = time_of("zb_v", {{"ranks", p}}, {}, m);
      EXPECT_EQ(zb.span - zb.work, 0) << p << " " << m;
      EXPECT_EQ(zb.makespan - zb.work, p - 1) << p << " " << m;
      EXPECT_EQ(largest(zb), 2 * p) << p << " " << m;
      const Makespan half = time_of("v_half", {{"ranks", p}}, {}, m);
      const int half_bubble = p % 2 == 1 ? 7 * (p - 1) / 2 : (7 * p - 4) / 2;
      EXPECT_EQ(half.makespan - half.work, half_bubble) << p << " " << m;
      EXPECT_EQ(largest(half), 2 * (p / 2) + 2) << p << " " << m;
      const Makespan least = time_of("v_min", {{"ranks", p}}, {}, m);
      const int min_bubble = p == 1 ? 0 : p % 3 == 0 ? 4 * p - 3 : 4 * p - 5 + (p == 2 ? 1 : 0);
      EXPECT_EQ(least.makespan - least.work, min_bubble) << p << " " << m;
      EXPECT_EQ(largest(least), 2 * ((p + 2) / 3) + (p % 3 == 1 ? 0 : 2)) << p << " " << m;
    }
  }
}

// Chimera (Li and Hoefler, 2021), §3, with D ranks and N microbatches, half of them on each copy.
TEST(Schedules, chimera_has_its_bubble_and_peaks) {
  for (const int p : {2, 4, 6, 8, 16, 32}) {
    for (const int units : {1, 2, 5}) {
      const Makespan even = time_of("chimera", {{"ranks", p}}, {2, 1, 1, 0}, units * p);
      EXPECT_EQ(even.makespan - even.work, 2 * (p - 2)) << p << " x " << units;
      for (int r = 0; r < p; ++r) {
        const int peak = std::min(p, p / 2 + 1 + std::min(r, p - 1 - r));
        EXPECT_EQ(even.peaks[static_cast<std::size_t>(r)], peak) << p << " x " << units;
      }
    }
    const Makespan twice = time_of("chimera", {{"ranks", p}}, {1, 1, 1, 0}, p);
    EXPECT_EQ(twice.makespan - twice.work, 2 * (p - 2)) << p;
  }
}

TEST(Schedules, dualpipe_v_has_its_bubble_and_peak_where_all_tasks_cost_the_same) {
  for (const int p : kRanks) {
    for (const int m : counts(p)) {
      for (const Costs& x : {Costs{1, 1, 1, 0}, Costs{4, 4, 4, 0}}) {
        const Makespan found = time_of("dualpipe_v", {{"ranks", p}}, x, m);
        EXPECT_EQ(found.makespan - found.work, (p - 1) * (2 * x.i - x.w)) << p << " " << m;
        EXPECT_EQ(*std::min_element(found.peaks.begin(), found.peaks.end()), 2 * p + 1);
        EXPECT_EQ(largest(found), 2 * p + 1) << p << " " << m;
      }
    }
  }
}

// The work is the time of all tasks without overlap; each of the 2(M - p) pairs saves a part of it.
TEST(Schedules, dualpipe_v_takes_less_by_what_its_pairs_hide) {
  for (const int p : kRanks) {
    for (const int m : counts(p)) {
      for (const Costs& x : {Costs{2, 2, 2, 0}, Costs{4, 4, 3, 0}, Costs{18, 18, 9, 0}}) {
        for (const std::int64_t together : {x.f, 3 * x.f / 2}) {
          const Makespan found =
              time_of("dualpipe_v", {{"ranks", p}, {"together", together}}, x, m);
          const std::int64_t hidden = 2 * (m - p) * (x.f + x.i - together);
          EXPECT_EQ(found.makespan, 2 * m * (x.f + x.i + x.w) - hidden + (p - 1) * (2 * x.i - x.w))
              << p << " " << m << " " << together;
          EXPECT_EQ(largest(found), 2 * p + 1) << p << " " << m;
        }
      }
    }
  }
}

// Zero Bubble Pipeline Parallelism (ICLR 2024): bubble divided by time; by makespan for 1F1B and
// ZB-H1, by span for ZB-H2. Costs are in microseconds.
TEST(Schedules, bubble_rates_are_the_published_ones) {
  struct Row {
    int m;
    Costs costs;
    const char* rates;
  };
  const Row rows[] = {
      {24, {18522, 18086, 9337, 601}, "0.2431 0.1585 0.1083"},
      {32, {18513, 18086, 9331, 626}, "0.1985 0.1242 0.0837"},
      {64, {18546, 18097, 9321, 762}, "0.1240 0.0674 0.0444"},
      {24, {29718, 29444, 19927, 527}, "0.2347 0.1323 0.0698"},
      {32, {29802, 29428, 19530, 577}, "0.1898 0.1045 0.0559"},
      {64, {29935, 29621, 19388, 535}, "0.1091 0.0554 0.0294"},
  };
  const auto rate = [](std::int64_t all, std::int64_t work) {
    return static_cast<double>(all - work) / static_cast<double>(all);
  };
  for (const Row& row : rows) {
    const auto time = [&](const char* name) {
      return time_of(name, {{"ranks", 8}}, row.costs, row.m);
    };
    const Makespan f = time("1f1b");
    const Makespan h1 = time("zb_h1");
    const Makespan h2 = time("zb_h2");
    EXPECT_EQ(fmt::format("{:.4f} {:.4f} {:.4f}", rate(f.makespan, f.work),
                          rate(h1.makespan, h1.work), rate(h2.span, h2.work)),
              row.rates);
  }
}

}  // namespace
}  // namespace ripeline::spec
