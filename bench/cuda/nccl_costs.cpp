// Checks whether NCCL behaves as the carrier `nccl` assumes, and measures its costs.
//
// Each rank is a process or a thread; ranks may share a GPU. All-reduces over one communicator must
// end. Messages around a ring, in which every rank sends before it receives, must end if each
// direction has its own communicator. If two ranks have one communicator for both directions, such
// messages must not end, since the two kernels wait for each other until an abort. Times are
// medians, on the host's clock, from the call until the host has seen the end. Exit codes: 0 all
// checks passed, 1 a check failed, 2 bad input, 77 there is no GPU or no NCCL.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/nccl/load_nccl.h"
#ifdef RIPELINE_FAKE_GPU
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/nccl/fake_library.h"
#endif

namespace ripeline::runtime::cuda {
namespace {

using core::Status;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kMostRanks = 8;
constexpr int kNothingHere = 77;
constexpr std::size_t kLarge = std::size_t{64} << 20;
constexpr auto kLimit = 120s;  // for a rank, and for each of its waits
constexpr auto kStuck = 3s;    // a call that takes longer counts as stuck

// The state that all ranks share, in shared memory.
struct Shared {
  std::atomic<int> named{0};  // 1 once rank 0 has made the communicators' ids
  std::array<NcclId, kMostRanks + 2> ids;
  std::atomic<int> came{0};  // the number of times that ranks came to a barrier
};

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_nccl: %s\n", status.message().c_str());
  std::_Exit(1);
}

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// Waits until `happened` returns true; false if that takes longer than the limit.
bool wait_for(const std::function<bool()>& happened, std::chrono::nanoseconds limit) {
  const Clock::time_point until = Clock::now() + limit;
  while (!happened()) {
    if (Clock::now() >= until) return false;
    std::this_thread::yield();
  }
  return true;
}

// A communicator of two ranks for one direction, or of all ranks, as seen by one rank.
struct Communicator {
  std::unique_ptr<NcclComm> comm;
  Stream stream;
  Event event;

  void note() { must(event.record(stream.get())); }
  bool is_over() const {
    bool reached = false;
    must(event.query(reached));
    return reached;
  }
};

class Rank {
 public:
  Rank(const NcclLibrary& nccl, Shared& shared, int rank, int ranks, int calls)
      : nccl_(nccl), shared_(shared), rank_(rank), ranks_(ranks), calls_(calls) {
    int devices = 0;
    must(status_of(cudaGetDeviceCount(&devices), "count the GPUs"));
    device_ = rank % devices;
    must(use_device(device_));
    must(DeviceMemory(device_, {}).allocate(kLarge, mine_));
    must(DeviceMemory(device_, {}).allocate(kLarge, theirs_));
  }

  void run() {
    name_all();
    Communicator all = connect(0, rank_, ranks_);
    say("all-reduce of 4 B", time(calls_, [&] { reduce(all, 1); }), 4);
    say("all-reduce of 64 MiB", time(few(), [&] { reduce(all, kLarge / sizeof(float)); }), kLarge);
    // All ranks connect the ring's edges in one order, since each first call waits for the peer.
    for (int e = 0; e < ranks_; ++e) {
      if (e == rank_) {
        to_ = connect(1 + e, 0, 2);
        end(send(to_, 1, 1));
      }
      if ((e + 1) % ranks_ == rank_) {
        from_ = connect(1 + e, 1, 2);
        end(receive(from_, 0, 1));
      }
    }
    say("a message around the ring, 64 B", time(calls_, [&] { exchange(64); }), 64);
    say("the host's part of a send", median(sends_), 0);
    say("a message around the ring, 64 MiB", time(few(), [&] { exchange(kLarge); }), kLarge);
    barrier();
    finish(to_, from_);
    finish(all);
    if (rank_ < 2) get_stuck();
    barrier();
  }

 private:
  [[nodiscard]] int few() const { return std::max(calls_ / 50, 3); }

  void name_all() {
    if (rank_ == 0) {
      for (int i = 0; i < ranks_ + 2; ++i) {
        must(nccl_.make_id(shared_.ids[static_cast<std::size_t>(i)]));
      }
      shared_.named = 1;
    }
    if (!wait_for([this] { return shared_.named == 1; }, kLimit)) fail("rank 0 does not begin");
  }

  Communicator connect(int id, int rank, int size) {
    Communicator line;
    must(Stream::make(Stream::Priority::highest, line.stream));
    must(Event::make(line.event, Event::Time::none));
    must(nccl_.connect(shared_.ids[static_cast<std::size_t>(id)],
                       {.rank = rank, .size = size, .most_blocks = 2}, line.comm));
    return line;
  }

  static void finish(Communicator& one) { must(one.comm->finish()); }
  void finish(Communicator& out, Communicator& in) {
    // The edges end in the order in which they were connected, since an end waits for the peer.
    for (int e = 0; e < ranks_; ++e) {
      if (e == rank_) finish(out);
      if ((e + 1) % ranks_ == rank_) finish(in);
    }
  }

  void reduce(Communicator& all, std::size_t count) {
    must(all.comm->reduce(mine_.data(), theirs_.data(), count, NcclType::float32, NcclSum::sum,
                          all.stream.get()));
    all.note();
    if (!wait_for([&] { return all.is_over(); }, kLimit)) fail("an all-reduce does not end");
  }

  const Communicator& send(Communicator& line, int to, std::size_t bytes) {
    must(line.comm->send(mine_.data(), bytes, to, line.stream.get()));
    line.note();
    return line;
  }
  const Communicator& receive(Communicator& line, int from, std::size_t bytes) {
    must(line.comm->receive(theirs_.data(), bytes, from, line.stream.get()));
    line.note();
    return line;
  }
  void end(const Communicator& line) const {
    if (!wait_for([&] { return line.is_over(); }, kLimit)) fail("a message does not arrive");
  }

  // Every rank sends before it receives.
  void exchange(std::size_t bytes) {
    const Clock::time_point begin = Clock::now();
    send(to_, 1, bytes);
    sends_.push_back(microseconds_since(begin));
    receive(from_, 0, bytes);
    end(to_);
    end(from_);
  }

  // With one communicator for both directions, each side's receive waits behind its send.
  void get_stuck() {
    Communicator both = connect(ranks_ + 1, rank_, 2);
    for (const int sender : {0, 1}) {  // connects the two
      end(sender == rank_ ? send(both, 1 - rank_, 1) : receive(both, sender, 1));
    }
    // The two calls use two streams. The message is too large to be sent before it is received.
    Stream other;
    must(Stream::make(Stream::Priority::highest, other));
    send(both, 1 - rank_, kLarge);
    must(both.comm->receive(theirs_.data(), kLarge, 1 - rank_, other.get()));
    if (wait_for([&] { return both.is_over(); }, kStuck)) {
      fail("two directions over one communicator went on, which no rule expects");
    }
    const Clock::time_point begin = Clock::now();
    both.comm->abort();
    must(other.sync());
    end(both);
    say("one communicator for both directions: stuck, abort", microseconds_since(begin), 0);
  }

  double time(int calls, const std::function<void()>& call) {
    call();
    sends_.clear();
    std::vector<double> all;
    for (int i = 0; i < calls; ++i) {
      barrier();
      const Clock::time_point begin = Clock::now();
      call();
      all.push_back(microseconds_since(begin));
    }
    return median(all);
  }

  void barrier() {
    const int after = (barriers_ += ranks_);
    ++shared_.came;
    if (!wait_for([&] { return shared_.came >= after; }, kLimit)) fail("another rank is missing");
  }

  void say(const char* what, double microseconds, std::size_t bytes) const {
    if (rank_ != 0) return;
    std::printf("%-52s %12.1f us", what, microseconds);
    if (bytes == kLarge) {
      std::printf("   %8.2f GB/s", static_cast<double>(bytes) / microseconds * 1e-3);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  [[noreturn]] void fail(const char* what) const {
    std::fprintf(stderr, "bench_nccl: rank %d: %s\n", rank_, what);
    std::_Exit(1);
  }

  const NcclLibrary& nccl_;
  Shared& shared_;
  const int rank_;
  const int ranks_;
  const int calls_;
  int device_ = 0;
  DeviceMemory::Own mine_;
  DeviceMemory::Own theirs_;
  Communicator to_;
  Communicator from_;
  std::vector<double> sends_;
  int barriers_ = 0;
};

// Makes NCCL treat each rank as a host of its own: NCCL refuses two ranks of one host on one GPU.
void be_a_host(int rank) {
  const std::string host = "ripeline-" + std::to_string(getppid()) + "-" + std::to_string(rank);
  setenv("NCCL_HOSTID", host.c_str(), 0);
}

const NcclLibrary* library() {
#ifdef RIPELINE_FAKE_GPU
  return &testing_support::fake_nccl();
#else
  const NcclLibrary* nccl = nullptr;
  if (const Status status = load_nccl(nccl); !status.ok()) {
    std::fprintf(stderr, "bench_nccl: skipped: %s\n", status.message().c_str());
    std::exit(kNothingHere);
  }
  return nccl;
#endif
}

void run_rank(Shared& shared, int rank, int ranks, int calls) {
#ifdef RIPELINE_FAKE_GPU
  fake_gpu::be_process(rank);
#endif
  Rank(*library(), shared, rank, ranks, calls).run();
}

int in_threads(Shared& shared, int ranks, int calls) {
  std::latch there(ranks);  // the fake fails calls that wait while another host is missing
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&shared, &there, r, ranks, calls] {
#ifdef RIPELINE_FAKE_GPU
      const fake_gpu::Host host;
#endif
      there.arrive_and_wait();
      run_rank(shared, r, ranks, calls);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// Forks the ranks. CUDA and NCCL must not have been called before.
int in_processes(Shared& shared, int ranks, int calls) {
  for (int r = 0; r < ranks; ++r) {
    if (fork() != 0) continue;
    alarm(static_cast<unsigned>(std::chrono::seconds(kLimit).count()));
    be_a_host(r);
    int devices = 0;
    const Status counted = status_of(cudaGetDeviceCount(&devices), "count the GPUs");
    if (!counted.ok() || devices == 0) {
      if (r == 0) std::fprintf(stderr, "bench_nccl: skipped: no GPU can be used here\n");
      std::_Exit(kNothingHere);
    }
    run_rank(shared, r, ranks, calls);
    std::fflush(stdout);
    std::_Exit(0);
  }
  int worst = 0;
  for (int r = 0; r < ranks; ++r) {
    int status = 0;
    wait(&status);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

int run(bool threads, int ranks, int calls) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("bench_nccl: mmap");
    return 1;
  }
  Shared& shared = *new (memory) Shared();
  std::printf("%d ranks, as %s\n", ranks, threads ? "threads" : "processes");
  std::fflush(stdout);
  return threads ? in_threads(shared, ranks, calls) : in_processes(shared, ranks, calls);
}

}  // namespace ripeline::runtime::cuda

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "--threads") == 0;
  const int first = threads ? 2 : 1;
  const int ranks = argc > first ? std::atoi(argv[first]) : 2;
  const int calls = argc > first + 1 ? std::atoi(argv[first + 1]) : 200;
  if (ranks < 2 || ranks > ripeline::runtime::cuda::kMostRanks || calls < 1) {
    std::fprintf(stderr,
                 "usage: bench_nccl [--threads] [RANKS [CALLS]]\n"
                 "  RANKS  2 to 8 processes, or threads of one (2 if not said); they may share a "
                 "GPU\n"
                 "  CALLS  how often each small exchange is timed (200 if not said)\n"
                 "Threads that share a GPU need an NCCL that allows it (2.30, with "
                 "NCCL_MULTI_RANK_GPU_ENABLE=1).\n");
    return 2;
  }
  return ripeline::runtime::cuda::run(threads, ranks, calls);
}
