#include "runtime/torch/tcp_store_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "runtime/duration.h"
#include "runtime/termination.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kFirstBeat = 20ms;     // short, so that a claim is soon known to be alive
constexpr auto kRedial = 100ms;       // between tries while no server is there yet
constexpr auto kLongestDial = 3s;     // for one try, if the server does not answer at all
constexpr auto kFarewell = 1s;        // at the end, for a call that still runs
constexpr auto kHeed = 100ms;         // between two checks whether the process was told to end
const std::string kNoValue = "none";  // a value that no key has; see Calls

int ms_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// Returns a connection, or -1 with the reason in `why`.
int dial(const addrinfo& where, const TcpStoreOptions& options, Clock::time_point until,
         std::string& why) {
  const int descriptor =
      socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, where.ai_protocol);
  int error = descriptor < 0 ? errno : 0;
  if (error == 0 && connect(descriptor, where.ai_addr, where.ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd event = {.fd = descriptor, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof error;
    int found = 0;
    do {
      found = poll(&event, 1, ms_until(std::min(until, Clock::now() + kHeed)));
    } while (found != 1 && Clock::now() < until && !is_told_to_end(options));
    if (found != 1) {
      error = ETIMEDOUT;
    } else if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  if (error == 0) return descriptor;
  why = std::strerror(error);
  if (descriptor >= 0) close(descriptor);
  return -1;
}

// Does the same by the name of the store's host; sets `address` to the address that was reached.
int dial(const TcpStoreOptions& options, Clock::time_point until, std::string& address,
         std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  const int error =
      getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &all);
  if (error != 0) {
    why = options.host + ": " + gai_strerror(error);
    return -1;
  }
  int descriptor = -1;
  for (const addrinfo* one = all; one != nullptr && descriptor < 0; one = one->ai_next) {
    descriptor = dial(*one, options, std::min(until, Clock::now() + kLongestDial), why);
    char text[NI_MAXHOST] = {};
    if (descriptor >= 0 && getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0,
                                       NI_NUMERICHOST) == 0) {
      address = text;
    }
  }
  freeaddrinfo(all);
  return descriptor;
}

}  // namespace

// The state that thread and client share; the thread keeps it alive when the client has ended.
class TcpStoreClient::Calls {
 public:
  using Task = std::packaged_task<Answer(Calls&)>;

  ~Calls() {
    if (sentinel_ >= 0) close(sentinel_);
  }

  // Called by the client.

  void push(Task task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  // Returns false if the thread still waits for an answer.
  bool stop(std::chrono::nanoseconds limit) {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, limit, [this] { return has_ended_; });
  }
  // Nobody sends anything over the sentinel connection, so it is readable only once it has ended.
  [[nodiscard]] bool is_gone() const {
    pollfd event = {.fd = sentinel_, .events = POLLIN | POLLRDHUP, .revents = 0};
    return sentinel_ >= 0 && poll(&event, 1, 0) != 0;
  }
  // To be called before the thread's first task.
  void watch_over(int sentinel) { sentinel_ = sentinel; }

  // Called by the thread.

  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      const Clock::time_point next = next_beat();
      if (next <= Clock::now()) {
        lock.unlock();
        beat();
        lock.lock();
      } else if (tasks_.empty()) {
        changed_.wait_until(lock, next);
      } else {
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task(*this);
        lock.lock();
      }
    }
    lock.unlock();
    store_.reset();
    lock.lock();
    has_ended_ = true;
    changed_.notify_all();
  }

  void connect(const std::string& host, const TcpStoreOptions& options) {
    c10d::TCPStoreOptions c10d_options;
    c10d_options.port = static_cast<std::uint16_t>(options.port);
    c10d_options.isServer = options.serves;
    c10d_options.waitWorkers = false;
    c10d_options.timeout = std::chrono::ceil<std::chrono::seconds>(options.answer_limit);
    store_.emplace(host, c10d_options);
  }
  c10d::Store& store() { return *store_; }

  // c10d has no other call that reads a key without waiting until it is set. If the key is not set
  // but a value was expected, compareSet() returns the expected value.
  std::string exchange(const std::string& key, const std::string& expected,
                       const std::string& desired) {
    std::string there = store().compareSet(key, expected, desired);
    if (there == kNoValue) there.clear();
    return there;
  }

  void count_up(const std::string& key) {
    store().set(key, "1");
    beats_[key] = {.count = 1, .pause = kFirstBeat, .next = Clock::now() + kFirstBeat};
  }

 private:
  struct Beat {
    std::int64_t count = 0;
    std::chrono::milliseconds pause{};
    Clock::time_point next;
  };

  [[nodiscard]] Clock::time_point next_beat() const {
    Clock::time_point next = Clock::now() + 1h;
    for (const auto& [key, beat] : beats_) next = std::min(next, beat.next);
    return next;
  }

  void beat() {
    if (is_gone()) return beats_.clear();
    try {
      for (auto it = beats_.begin(); it != beats_.end();) {
        it = it->second.next <= Clock::now() && !beat(it->first, it->second) ? beats_.erase(it)
                                                                             : std::next(it);
      }
    } catch (const std::exception&) {  // the next call fails as well, and reports that
      beats_.clear();
    }
  }

  // Returns false if the key has been removed.
  bool beat(const std::string& key, Beat& beat) {
    const std::string next = std::to_string(beat.count + 1);
    // Replaces only its own last count, so that a removed key is not set again.
    if (exchange(key, std::to_string(beat.count), next) != next) return false;
    ++beat.count;
    beat.pause = std::min(2 * beat.pause, kBeat);
    beat.next = Clock::now() + beat.pause;
    return true;
  }

  std::optional<c10d::TCPStore> store_;
  std::map<std::string, Beat> beats_;

  int sentinel_ = -1;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
};

TcpStoreClient::TcpStoreClient(const TcpStoreOptions& options)
    : options_(options),
      calls_(std::make_shared<Calls>()),
      thread_([calls = calls_] { calls->run(); }) {}

TcpStoreClient::~TcpStoreClient() {
  if (calls_->stop(kFarewell)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

bool is_told_to_end(const TcpStoreOptions& options) {
  return options.termination != nullptr && options.termination->requested();
}

Status told_to_end() { return {StatusCode::lost, "told to end by SIGTERM"}; }

std::string TcpStoreClient::text_of(const TcpStoreOptions& options) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + options.host + ']' : options.host) + ':' + std::to_string(options.port);
}

Status TcpStoreClient::open(const TcpStoreOptions& options,
                            std::unique_ptr<TcpStoreClient>& client) {
  const Clock::time_point end = Clock::now() + options.connect_limit;
  std::string address = "localhost";
  std::string why;
  std::unique_ptr<TcpStoreClient> made(new TcpStoreClient(options));
  if (!options.serves) {
    int sentinel = -1;
    while ((sentinel = dial(options, end, address, why)) < 0 && Clock::now() < end) {
      if (is_told_to_end(options)) return told_to_end();
      std::this_thread::sleep_for(kRedial);
    }
    if (sentinel < 0) {
      return {StatusCode::timeout, "nobody serves the store at " + text_of(options) + " within " +
                                       seconds_text(options.connect_limit) + " (" + why + "): " +
                                       (options.is_of_agent ? "torchrun's agent" : "rank 0") +
                                       " did not come, or cannot be reached there"};
    }
    made->calls_->watch_over(sentinel);
  }
  Answer none;
  Status status = made->ask(
      [address, options](Calls& calls) {
        calls.connect(address, options);
        return Answer();
      },
      none);
  if (status.ok()) client = std::move(made);
  return status;
}

Status TcpStoreClient::fail(const std::string& how) {
  const std::string store = "the store at " + text_of(options_);
  if (options_.serves) return failure_ = {StatusCode::failed, store + " cannot be served: " + how};
  if (options_.is_of_agent) return failure_ = {StatusCode::lost, store + " was lost: " + how};
  return failure_ = {StatusCode::lost, "rank 0 was lost, which serves " + store + ": " + how};
}

template <class Op>
Status TcpStoreClient::ask(Op op, Answer& answer) {
  if (!failure_.ok()) return failure_;
  if (calls_->is_gone()) return fail("connection closed");
  Calls::Task task(std::move(op));
  std::future<Answer> answered = task.get_future();
  calls_->push(std::move(task));
  const Clock::time_point asked = Clock::now();
  while (answered.wait_for(kHeed) != std::future_status::ready) {
    // A process that was told to end waits less, since it must still report that to the others.
    const std::chrono::nanoseconds limit =
        is_told_to_end(options_) ? std::min<std::chrono::nanoseconds>(limit_, kFarewell) : limit_;
    if (Clock::now() - asked >= limit) return fail("no answer for " + seconds_text(limit));
  }
  try {
    answer = answered.get();
    return {};
  } catch (const c10::Error& error) {
    return fail(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

Status TcpStoreClient::set(const std::string& key, const std::string& value) {
  Answer none;
  return ask(
      [key, value](Calls& calls) {
        calls.store().set(key, value);
        return Answer();
      },
      none);
}

Status TcpStoreClient::exchange(const std::string& key, const std::string& expected,
                                const std::string& desired, std::string& there) {
  Answer answer;
  Status status = ask([key, expected, desired](
                          Calls& calls) { return Answer{calls.exchange(key, expected, desired)}; },
                      answer);
  there = status.ok() ? std::move(answer.front()) : std::string();
  return status;
}

Status TcpStoreClient::get(const std::string& key, std::string& there) {
  return exchange(key, kNoValue, kNoValue, there);
}

void TcpStoreClient::remove(const std::string& key) {
  Answer none;
  failure_ = ask(
      [key](Calls& calls) {
        calls.store().deleteKey(key);
        return Answer();
      },
      none);
}

Status TcpStoreClient::keys(std::vector<std::string>& all) {
  return ask([](Calls& calls) { return calls.store().listKeys(); }, all);
}

Status TcpStoreClient::count_up(const std::string& key) {
  Answer none;
  return ask(
      [key](Calls& calls) {
        calls.count_up(key);
        return Answer();
      },
      none);
}

}  // namespace ripeline::runtime
