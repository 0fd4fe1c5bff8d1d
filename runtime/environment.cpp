#include "runtime/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <thread>

#include "runtime/network/host_address.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

// The variables that one kind of launcher sets.
struct Source {
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_ranks;
  // For several hosts: the number of ranks on each host, such as `2(x3),1`, and this host's index.
  const char* ranks_of_hosts = nullptr;
  const char* host = nullptr;
  // Variables that differ from run to run; for some launchers only together with starter_of().
  std::array<const char*, 4> run = {};
  // Used if a run on several hosts is given no store: the list of its hosts, the first of which has
  // rank 0, and numbers from which a port is computed.
  std::array<const char*, 2> hosts = {};
  std::array<const char*, 2> port_from = {};
  // Whether torchrun's agent serves a store, and how many times the agent has started the ranks.
  const char* agent = nullptr;
  const char* attempt = nullptr;
  // Advice in an error message: how a user sets the address of the store.
  const char* how = "set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port there";
};
constexpr std::array kSources = {
    Source{
        .rank = "RANK",
        .ranks = "WORLD_SIZE",
        .local_rank = "LOCAL_RANK",
        .local_ranks = "LOCAL_WORLD_SIZE",
        .run = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"},
        .agent = "TORCHELASTIC_USE_AGENT_STORE",
        .attempt = "TORCHELASTIC_RESTART_COUNT"},
    Source{.rank = "OMPI_COMM_WORLD_RANK",
           .ranks = "OMPI_COMM_WORLD_SIZE",
           .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
           .local_ranks = "OMPI_COMM_WORLD_LOCAL_SIZE",
           .run = {"PMIX_NAMESPACE"},
           .how = "give mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=PORT, the host of rank 0 and a "
                  "free port there"},
    Source{.rank = "PMI_RANK",
           .ranks = "PMI_SIZE",
           .local_rank = "MPI_LOCALRANKID",
           .local_ranks = "MPI_LOCALNRANKS",
           .run = {"PMI_JOBID"},
           .how = "give mpirun -genv MASTER_ADDR HOST -genv MASTER_PORT PORT, the host of rank 0 "
                  "and a free port there"},
    Source{.rank = "SLURM_PROCID",
           .ranks = "SLURM_NTASKS",
           .local_rank = "SLURM_LOCALID",
           .local_ranks = nullptr,
           .ranks_of_hosts = "SLURM_STEP_TASKS_PER_NODE",
           .host = "SLURM_NODEID",
           .run = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"},
           .hosts = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"},
           .port_from = {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};
constexpr int kMostRanks = 65536;
constexpr int kHighestPort = 65535;
// The ports for the stores of jobs are below the kernel's ephemeral ports.
constexpr std::uint64_t kFirstPort = 20'000;
constexpr std::uint64_t kPorts = 9'000;
constexpr std::uint64_t kStepsOfJob = 16;  // neighbouring jobs and steps do not share a port

const char* variable(const char* name) {
  const char* value = name == nullptr ? nullptr : std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

Status read(const char* name, int low, int high, int& value) {
  const char* text = variable(name);
  if (text == nullptr) return {StatusCode::invalid, std::string(name) + " is not set"};
  if (read_number(text, value) && value >= low && value <= high) return {};
  return {StatusCode::invalid, std::string(name) + "='" + text + "': expected a number from " +
                                   std::to_string(low) + " to " + std::to_string(high)};
}

Status read_if_set(const char* name, int low, int high, int& value) {
  return variable(name) == nullptr ? Status() : read(name, low, high, value);
}

// Reads how many ranks this host has: `2(x3),1` means 2 on each of 3 hosts and 1 on the fourth.
Status read_of_host(const Source& source, int ranks, int& value) {
  const char* text = variable(source.ranks_of_hosts);
  if (text == nullptr) return {};
  int host = 0;
  if (Status s = read_if_set(source.host, 0, kMostRanks, host); !s.ok()) return s;
  std::istringstream groups(text);
  for (std::string group; std::getline(groups, group, ',');) {
    const std::size_t times_at = group.find("(x");
    int times = 1;
    const bool is_read =
        read_number(std::string_view(group).substr(0, times_at), value) &&
        (times_at == std::string::npos ||
         (group.ends_with(')') &&
          read_number(std::string_view(group).substr(times_at + 2, group.size() - times_at - 3),
                      times)));
    if (!is_read || times < 1 || value < 1 || value > ranks) break;
    if (host < times) return {};
    host -= times;
  }
  return {StatusCode::invalid, std::string(source.ranks_of_hosts) + "='" + text +
                                   "': expected how many ranks each host has, as 4 or 2(x3),1"};
}

const Source* source() {
  const auto it = std::find_if(kSources.begin(), kSources.end(),
                               [](const Source& s) { return variable(s.rank) != nullptr; });
  return it == kSources.end() ? nullptr : &*it;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The process id and start time of the launcher, which tell its runs apart. The launcher is the
// nearest ancestor that is no rank itself; there may be shells in between.
std::string starter_of(const Source& source) {
  if (variable(source.local_rank) == nullptr) return {};  // the ranks may be started by hand
  const std::string mark = '\0' + std::string(source.local_rank) + '=';
  std::string process = std::to_string(getppid());
  for (;;) {
    const std::string folder = "/proc/" + process;
    const std::string stat = text_of(folder + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) return process;
    std::istringstream fields(stat.substr(name_end + 1));
    std::string state;
    std::string parent;
    fields >> state >> parent;
    const std::string environment = '\0' + text_of(folder + "/environ");
    if (environment.find(mark) != std::string::npos && parent != "0") {
      process = parent;
      continue;
    }
    std::string start;  // field 22 of the line; `fields` has those from 3 on
    for (int field = 4; field <= 22 - 2; ++field) fields >> start;
    return process + '.' + start;
  }
}

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string folder_of(const Source& source) {
  if (const char* folder = variable("RIPELINE_FOLDER")) return folder;
  std::string run = std::string(source.rank) + '\n' + starter_of(source) + '\n';
  for (const char* name : source.run) {
    const char* value = variable(name);
    run += std::string(value == nullptr ? "" : value) + '\n';
  }
  std::array<char, 17> name{};
  std::to_chars(name.data(), name.data() + 16, hash_of(run), 16);
  return "/tmp/ripeline-" + std::to_string(getuid()) + "-" + name.data();
}

// The port of the store of a Slurm job.
Status derive_port(const Source& source, int& port) {
  std::uint64_t number = 0;
  for (const char* name : source.port_from) {
    const char* text = variable(name);
    std::uint64_t part = 0;
    if (text == nullptr || !read_number(text, part)) {
      return {StatusCode::invalid, std::string(name) + "='" + (text == nullptr ? "" : text) +
                                       "': expected a number, from which the port of the store "
                                       "follows; or set MASTER_PORT"};
    }
    number = kStepsOfJob * number + part;
  }
  port = static_cast<int>(kFirstPort + number % kPorts);
  return {};
}

Status read_store(const Source& source, RankEnvironment& e) {
  const auto missing = [&](const std::string& what) -> Status {
    return {StatusCode::invalid,
            std::to_string(e.local_ranks) + " of the " + std::to_string(e.ranks) + " ranks (" +
                source.ranks + ") are on this host (" +
                (source.local_ranks == nullptr ? source.ranks_of_hosts : source.local_ranks) +
                "), and " + what + ": " + source.how};
  };
  const char* host = variable("MASTER_ADDR");
  const char* list = nullptr;
  for (const char* name : source.hosts) list = list == nullptr ? variable(name) : list;
  if (host == nullptr && list == nullptr) return missing("MASTER_ADDR is not set");
  e.store.host = host != nullptr ? host : network::first_host(list);
  if (e.store.host.empty()) {
    return missing("the list of hosts '" + std::string(list) + "' cannot be read");
  }
  const bool has_port = variable("MASTER_PORT") != nullptr;
  if (!has_port && source.port_from.front() == nullptr) return missing("MASTER_PORT is not set");
  Status status = has_port ? read("MASTER_PORT", 1, kHighestPort, e.store.port)
                           : derive_port(source, e.store.port);
  if (!status.ok()) return status;
  const char* agent = variable(source.agent);
  e.store.is_of_agent = agent != nullptr && std::string_view(agent) == "True";
  if (const char* attempt = variable(source.attempt)) e.store.attempt = attempt;
  if (const char* address = variable("RIPELINE_ADDRESS")) e.address = address;
  if (e.address.empty() || network::is_numeric_address(e.address)) return {};
  return {StatusCode::invalid, "RIPELINE_ADDRESS='" + e.address +
                                   "': expected an address of this host in numbers, as 10.0.0.1"};
}

Status not_started() {
  std::string names;
  for (const Source& source : kSources) {
    names += (names.empty() ? "none of " : ", ") + std::string(source.rank);
  }
  return {StatusCode::invalid,
          names +
              " is set, so that this process has no rank; start the ranks with "
              "`ripeline launch -n N -- PROGRAM`, torchrun, mpirun or srun"};
}

}  // namespace

int RankEnvironment::default_threads() const {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, cores / std::max(1, local_ranks));
}

bool is_rank() { return source() != nullptr; }

Status read_rank_environment(RankEnvironment& environment) {
  const Source* from = source();
  if (from == nullptr) return not_started();
  RankEnvironment e;
  Status s = read(from->ranks, 1, kMostRanks, e.ranks);
  if (s.ok()) s = read(from->rank, 0, e.ranks - 1, e.rank);
  e.local_rank = e.rank;
  e.local_ranks = e.ranks;
  if (s.ok()) s = read_if_set(from->local_rank, 0, e.ranks - 1, e.local_rank);
  if (s.ok()) s = read_if_set(from->local_ranks, 1, e.ranks, e.local_ranks);
  if (s.ok()) s = read_of_host(*from, e.ranks, e.local_ranks);
  if (!s.ok()) return s;
  if (e.local_ranks == e.ranks) {
    e.folder = folder_of(*from);
  } else {
    s = read_store(*from, e);
  }
  if (s.ok()) environment = e;
  return s;
}

}  // namespace ripeline::runtime
