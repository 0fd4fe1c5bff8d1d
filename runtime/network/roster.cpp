#include "runtime/network/roster.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "runtime/blob_io.h"
#include "runtime/duration.h"
#include "runtime/network/frame.h"
#include "runtime/termination.h"

namespace ripeline::runtime::network {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kFailure = "failure";
constexpr std::size_t kLongestText = 64 << 10;
constexpr std::uint32_t kMostSettings = 4096;
// The time for which the entry of an ended process may be of an earlier run and be replaced soon.
constexpr auto kLeftOver = 800ms;

std::string key_of(int rank) { return "rank-" + std::to_string(rank); }
std::string address_key_of(int rank) { return "address-" + std::to_string(rank); }
std::string name_of(int rank) { return "rank " + std::to_string(rank); }

Status cannot(int rank, const std::string& what, const Status& why) {
  if (why.code() == StatusCode::lost) return why;  // the store is lost; `why` names its process
  return {why.code(), name_of(rank) + " cannot " + what + ": " + why.message()};
}

// A text such as `rank 2` or `ranks 2, 3`.
std::string names_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const int rank : ranks) text += (rank == ranks.front() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string own_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::to_chars(text.data(), text.data() + 16, value, 16);
  return text.data();
}

// Whether a signal or a debugger has stopped the process; false if the system does not say.
bool is_stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'T' || text[name_end + 2] == 't';
}

// The time of the calendar, since a process that reads the failure may run much later.
std::chrono::seconds now_by_calendar() {
  return std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

Blob encode(int rank, const Status& why) {
  BlobWriter to;
  to.number(static_cast<std::int64_t>(now_by_calendar().count()));
  to.number(static_cast<std::int32_t>(rank));
  to.number(static_cast<std::int32_t>(why.code()));
  to.text(why.message().substr(0, kLongestText));
  return to.take();
}

std::chrono::seconds age_of_failure(const Blob& blob) {
  return now_by_calendar() - std::chrono::seconds(BlobReader(blob).number<std::int64_t>());
}

// The failure as `self` reports it. A failure of another rank becomes `lost`, unless it is a
// refusal or a timeout. nullopt if the blob cannot be read.
std::optional<Status> decode_failure(const Blob& blob, int self) {
  BlobReader from(blob);
  from.number<std::int64_t>();  // when
  const auto rank = from.number<std::int32_t>();
  const auto code = static_cast<StatusCode>(from.number<std::int32_t>());
  std::string text = from.text(kLongestText);
  if (!from.is_done()) return std::nullopt;
  const bool is_own_kind =
      rank == self || code == StatusCode::refused || code == StatusCode::timeout;
  const bool is_kept = is_own_kind && code >= StatusCode::invalid && code <= StatusCode::failed;
  return Status(is_kept ? code : StatusCode::lost, std::move(text));
}

}  // namespace

// A rank's entry in the store.
struct Roster::Entry {
  std::uint16_t version = kFrameVersion;
  pid_t process = 0;
  std::uint64_t token = 0;  // drawn by rank 0
  std::string host;
  int ranks = 0;
  std::uint64_t program_hash = 0;
  Configuration configuration = {};

  [[nodiscard]] Blob encode() const {
    BlobWriter to;
    to.number(version);
    to.number(static_cast<std::int64_t>(process));
    to.number(token);
    to.text(host);
    to.number(static_cast<std::int32_t>(ranks));
    to.number(program_hash);
    to.number(static_cast<std::uint32_t>(configuration.size()));
    for (const Setting& setting : configuration) {
      to.text(setting.name);
      to.text(setting.value);
    }
    return to.take();
  }
  [[nodiscard]] bool is_here() const { return host.empty() || host == own_host(); }
  // The process's id, and its host if that is another host: `412`, `412 on host-3`.
  [[nodiscard]] std::string where() const {
    return std::to_string(process) + (is_here() ? "" : " on " + host);
  }
  // If the entry is of another version, reads only the version and the process.
  static std::optional<Entry> decode(const Blob& blob) {
    BlobReader from(blob);
    Entry entry;
    entry.version = from.number<std::uint16_t>();
    entry.process = static_cast<pid_t>(from.number<std::int64_t>());
    if (entry.version != kFrameVersion) return from.ok() ? std::optional(entry) : std::nullopt;
    entry.token = from.number<std::uint64_t>();
    entry.host = from.text(kLongestText);
    entry.ranks = from.number<std::int32_t>();
    entry.program_hash = from.number<std::uint64_t>();
    const auto settings = std::min(from.number<std::uint32_t>(), kMostSettings);
    for (std::uint32_t i = 0; i < settings && from.ok(); ++i) {
      std::string name = from.text(kLongestText);
      entry.configuration.push_back({std::move(name), from.text(kLongestText)});
    }
    return from.is_done() ? std::optional(entry) : std::nullopt;
  }
};

Roster::Roster(std::shared_ptr<Store> store, SocketOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      members_(static_cast<std::size_t>(options_.ranks)) {}

// The entries of a run that did not start are removed from the store only after all ranks have
// joined, since the failure must stay in the store for those that join later.
Roster::~Roster() {
  if (!joined_) return;
  store_->remove(address_key_of(options_.rank));
  if (started_) {
    store_->remove(key_of(options_.rank));
  } else {
    store_->release(key_of(options_.rank));
  }
  if (anybody_left()) return;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    store_->remove(key_of(rank));
    store_->remove(address_key_of(rank));
    store_->remove("socket-" + std::to_string(rank));  // left by a process that was killed
  }
  store_->remove(kFailure);
}

bool Roster::anybody_left() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const Claim claim = store_->claim_of(key_of(rank));
    const bool may_come = claim == Claim::none && !started_;
    if (may_come || (claim != Claim::none && claim != Claim::abandoned)) return true;
  }
  return false;
}

Roster::Entry Roster::own_entry() const {
  return {.process = getpid(),
          .host = own_host(),
          .ranks = options_.ranks,
          .program_hash = options_.program_hash,
          .configuration = options_.configuration};
}

Status Roster::join() {
  Entry mine = own_entry();
  if (options_.rank == 0) {
    std::random_device random;
    mine.token = (std::uint64_t{random()} << 32) | random();
  }
  Blob there;
  const Status status = store_->claim(key_of(options_.rank), mine.encode(), there);
  if (status.ok()) {
    joined_ = true;
    store_->remove(address_key_of(options_.rank));  // left by a run that was killed
    const bool had_another = !there.empty();
    forget_old_failure(had_another);
    if (options_.rank == 0) token_ = mine.token;
    return {};
  }
  if (status.code() != StatusCode::refused) {
    if (Status ended = Termination::status_at_start(options_.termination, options_.rank);
        !ended.ok())
      return ended;
    return cannot(options_.rank, "join the run", status);
  }
  const std::optional<Entry> other = Entry::decode(there);
  return {StatusCode::refused, name_of(options_.rank) + " is claimed by two processes, " +
                                   (other ? other->where() : "another one") + " and " +
                                   mine.where() + ": each must have a rank of its own"};
}

// A failure belongs to an earlier run if this rank was in that run, or if the failure is older than
// any rank of this run can have waited.
void Roster::forget_old_failure(bool has_been_here) {
  std::optional<Blob> failure;
  if (!store_->get(kFailure, failure).ok() || !failure) return;
  if (has_been_here || age_of_failure(*failure) > options_.connect_limit) store_->remove(kFailure);
}

Status Roster::listens_at(const std::string& address) {
  BlobWriter to;
  to.bytes(address.data(), address.size());
  const Status status = store_->set(address_key_of(options_.rank), to.take());
  return status.ok() ? Status() : cannot(options_.rank, "say where it listens", status);
}

Status Roster::address_of(int rank, std::string& address) {
  address.clear();
  if (!members_[static_cast<std::size_t>(rank)].seen_alive) return {};
  std::optional<Blob> blob;
  const Status status = store_->get(address_key_of(rank), blob);
  if (!status.ok()) return cannot(options_.rank, "ask where " + name_of(rank) + " listens", status);
  if (blob) address.assign(reinterpret_cast<const char*>(blob->data()), blob->size());
  return {};
}

Status Roster::look(const std::vector<int>& awaited) {
  Status status;
  if (!token_) status = meet_first();
  if (!token_ && status.ok()) status = check_alive(0);
  for (const int rank : awaited) {
    if (status.ok()) status = check_alive(rank);
  }
  // The failure is read last, since a failing process writes it before it ends.
  std::optional<Blob> failure;
  const Status asked = store_->get(kFailure, failure);
  if (failure) {
    return decode_failure(*failure, options_.rank)
        .value_or(Status(StatusCode::invalid, "the run's failure cannot be read"));
  }
  if (status.ok() && !asked.ok()) status = cannot(options_.rank, "ask how the run is", asked);
  // A request to end is checked last, since a failure elsewhere may have caused it.
  if (status.ok()) status = Termination::status_at_start(options_.termination, options_.rank);
  return status.ok() ? status : fail(std::move(status));
}

Status Roster::read_entry(int rank, std::optional<Entry>& entry) {
  std::optional<Blob> blob;
  const Status status = store_->get(key_of(rank), blob);
  if (!status.ok()) return cannot(options_.rank, "ask for " + name_of(rank), status);
  if (!blob) return {};
  entry = Entry::decode(*blob);
  if (entry) return {};
  return {StatusCode::invalid, "what " + name_of(rank) + " says of itself cannot be read"};
}

Status Roster::meet_first() {
  if (store_->claim_of(key_of(0)) != Claim::held) return {};
  std::optional<Entry> first;
  if (Status status = read_entry(0, first); !status.ok() || !first) return status;
  const Entry mine = own_entry();
  if (std::string how = difference(mine, *first); !how.empty()) {
    return {StatusCode::refused, name_of(options_.rank) + " " + how};
  }
  token_ = first->token;
  return {};
}

std::string Roster::difference(const Entry& mine, const Entry& first) const {
  if (mine.version != first.version) {
    return "speaks version " + std::to_string(mine.version) + " of the frames, rank 0 version " +
           std::to_string(first.version) + ": all ranks must use the same Ripeline";
  }
  if (mine.ranks != first.ranks) {
    return "has " + std::to_string(mine.ranks) + " ranks, rank 0 has " +
           std::to_string(first.ranks);
  }
  if (mine.program_hash != first.program_hash) {
    return "runs program " + hex(mine.program_hash) + ", rank 0 runs program " +
           hex(first.program_hash) + ": all ranks must be built from the same schedule";
  }
  const auto value_in = [](const Configuration& all,
                           const std::string& name) -> const std::string* {
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const Setting& setting) { return setting.name == name; });
    return it == all.end() ? nullptr : &it->value;
  };
  const auto text = [](const std::string& name, const std::string* value) {
    return value == nullptr ? "no " + name : name + " " + *value;
  };
  std::string how;
  int more = 0;
  const auto compare = [&](const std::string& name) {
    const std::string* here = value_in(mine.configuration, name);
    const std::string* there = value_in(first.configuration, name);
    if (here != nullptr && there != nullptr && *here == *there) return;
    if (how.empty()) {
      how = "has " + text(name, here) + ", rank 0 has " + text(name, there);
    } else {
      ++more;
    }
  };
  for (const Setting& setting : mine.configuration) compare(setting.name);
  for (const Setting& setting : first.configuration) {
    if (value_in(mine.configuration, setting.name) == nullptr) compare(setting.name);
  }
  if (more > 0) how += "; " + std::to_string(more) + " more differ";
  return how;
}

Status Roster::check_alive(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  const Claim claim = store_->claim_of(key_of(rank));
  if (claim == Claim::held) {
    member = {.seen_alive = true, .dead_since = std::nullopt};
    return {};
  }
  if (claim == Claim::none) return check_started(rank);
  if (claim == Claim::unseen) return {};
  if (claim == Claim::silent && !member.seen_alive) return {};
  const Clock::time_point now = Clock::now();
  if (!member.dead_since) member.dead_since = now;
  if (!member.seen_alive && now < *member.dead_since + kLeftOver) return {};
  std::optional<Entry> entry;
  if (Status status = read_entry(rank, entry); !status.ok()) return status;
  if (!entry) return {};
  const bool is_silent = claim == Claim::silent;
  std::string text = name_of(rank) + " was lost while the ranks connected (its process " +
                     entry->where() +
                     (is_silent ? " has given no sign of life for some seconds)" : " has ended)");
  if (!member.seen_alive) text += "; if " + store_->name() + " is left over, remove it";
  return {StatusCode::lost, text};
}

// Fails if the process that starts the ranks has reported in the store how `rank` has ended.
Status Roster::check_started(int rank) {
  std::optional<Blob> blob;
  if (!store_->get(ended_key(rank), blob).ok() || !blob) return {};
  const std::string how(reinterpret_cast<const char*>(blob->data()), blob->size());
  return {StatusCode::lost, name_of(rank) + " " + how + " before it joined the run"};
}

Status Roster::fail(Status why) {
  Blob there;
  const Status reported = store_->set_if_absent(kFailure, encode(options_.rank, why), there);
  // Another rank may have removed the failure meanwhile, as the last rank to leave does.
  return reported.ok() ? decode_failure(there, options_.rank).value_or(why) : why;
}

Status Roster::fail_late(const std::vector<int>& ranks, std::chrono::nanoseconds limit,
                         const std::string& why) {
  std::vector<int> absent;
  std::vector<int> stopped;
  // All ranks are checked, since those in `ranks` may be waiting for others.
  for (int rank = 0; rank < options_.ranks; ++rank) {
    std::optional<Entry> entry;
    if (Status status = read_entry(rank, entry); !status.ok()) return fail(std::move(status));
    if (!entry) {
      absent.push_back(rank);
    } else if (entry->is_here() && is_stopped(entry->process)) {
      stopped.push_back(rank);
    }
  }
  const std::string within = " within " + seconds_text(limit);
  std::string text = names_of(ranks) + " did not connect" + within;
  if (!absent.empty()) {
    text = names_of(absent) + " did not come to " + store_->name() + within;
  } else if (!stopped.empty()) {
    text = names_of(stopped) + " did not connect" + within + ": stopped by a signal or a debugger";
  }
  if (absent.empty() && stopped.empty() && !why.empty()) text += ": " + why;
  return fail({StatusCode::timeout, text});
}

}  // namespace ripeline::runtime::network
