#include "runtime/environment.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

template <class Int>
Status read(const char* name, Int low, Int high, Int& value, int base = 10) {
  const char* text = variable(name);
  if (text == nullptr) return {StatusCode::invalid, std::string(name) + " is not set"};
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value, base);
  if (error == std::errc{} && end == view.data() + view.size() && value >= low && value <= high)
    return {};
  return {StatusCode::invalid, std::string(name) + "='" + text + "': expected a number from " +
                                   std::to_string(low) + " to " + std::to_string(high)};
}

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace

int RankEnvironment::default_threads() const {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, cores / std::max(1, local_ranks));
}

Status read_rank_environment(RankEnvironment& environment) {
  constexpr int kMost = 65536;
  RankEnvironment e;
  Status s = read("WORLD_SIZE", 1, kMost, e.ranks);
  if (s.ok()) s = read("RANK", 0, e.ranks - 1, e.rank);
  if (!s.ok()) {
    return {s.code(),
            s.message() + "; start the ranks with `ripeline launch -n N -- PROGRAM` or torchrun"};
  }
  e.local_rank = e.rank;
  e.local_ranks = e.ranks;
  if (variable("LOCAL_RANK") != nullptr) s = read("LOCAL_RANK", 0, e.ranks - 1, e.local_rank);
  if (s.ok() && variable("LOCAL_WORLD_SIZE") != nullptr)
    s = read("LOCAL_WORLD_SIZE", 1, e.ranks, e.local_ranks);
  if (!s.ok()) return s;
  if (e.local_ranks != e.ranks) {
    return {StatusCode::invalid, "LOCAL_WORLD_SIZE is " + std::to_string(e.local_ranks) +
                                     " and WORLD_SIZE " + std::to_string(e.ranks) +
                                     ": the socket transport is for one host"};
  }
  if (const char* folder = variable("RIPELINE_FOLDER")) {
    e.folder = folder;
    if (s = read<std::uint64_t>("RIPELINE_TOKEN", 0, UINT64_MAX, e.token, 16); !s.ok()) return s;
  } else {
    std::string run;
    for (const char* name :
         {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"}) {
      const char* value = variable(name);
      run += std::string(value == nullptr ? "" : value) + '\n';
    }
    e.token = hash_of(run);
    char name[17] = {};
    std::to_chars(name, name + 16, e.token, 16);
    e.folder = "/tmp/ripeline-" + std::to_string(getuid()) + "-" + name;
  }
  environment = e;
  return {};
}

}  // namespace ripeline::runtime
