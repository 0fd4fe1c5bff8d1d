#include "tests/nccl/edge_run.h"

#include <nccl.h>

#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "runtime/cuda/nccl_end.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/fake_nccl.h"

namespace ripeline::testing_support {

using runtime::NcclEnd;
using Kind = EdgeChoice::Kind;

namespace {

constexpr int kEverything = 1 << 20;

struct Unseen {
  std::uint64_t number = 0;
  cudaEvent_t event = nullptr;
};

// One end of an edge, at `rank`.
struct End {
  int rank = 0;
  bool sends = false;
  int edge = 0;
  NcclEnd machine{};
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::byte* data = nullptr;  // of the device: one byte for each number
  std::deque<Unseen> unseen{};
};

struct Edge {
  int from = 0;
  int to = 0;
  std::vector<int> messages{};  // microbatches, by number
  std::uint64_t announced = 0;  // that the receiver has not heard of yet: from `heard` to here
  std::uint64_t heard = 0;
};

struct Rank {
  unsigned forwards = 0;  // that it has run, as bits; and that have arrived from its neighbours
  unsigned backwards = 0;
  unsigned have_forward = 0;
  unsigned have_backward = 0;
  bool waits = false;  // in a call that waits for the device
};

int count(unsigned bits) { return __builtin_popcount(bits); }

}  // namespace

class EdgeRun::Chain {
 public:
  Chain(const EdgeSize& size, const EdgeRules& rules) : size_(size), rules_(rules) {
    fake_gpu::begin({.devices = size.ranks,
                     .connections = rules.connections,
                     .blocks = rules.one_fits ? 1 : 0,
                     .connected = true,
                     .by_itself = false});
    ranks_.resize(static_cast<std::size_t>(size.ranks));
    for (int r = 0; r + 1 < size.ranks; ++r) {
      edges_.push_back({.from = r, .to = r + 1});
      edges_.push_back({.from = r + 1, .to = r});
    }
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      ends_.push_back({.rank = edge(e).from, .sends = true, .edge = e});
      ends_.push_back({.rank = edge(e).to, .sends = false, .edge = e});
    }
    for (End& end : ends_) prepare(end);
    make_communicators();
    if (rules_.ahead) {
      for (End& end : ends_) {
        if (!end.sends) post_next(end);
      }
    }
    settle();
  }

  std::vector<EdgeChoice> choices() const {
    std::vector<EdgeChoice> all;
    const auto add = [&all](Kind kind, int rank, int which) {
      all.push_back({kind, static_cast<std::int8_t>(rank), static_cast<std::int8_t>(which)});
    };
    for (int r = 0; r < size_.ranks; ++r) {
      if (rank(r).waits) continue;
      if (rules_.synchronises && !fake_gpu::is_idle(r)) add(Kind::wait, r, 0);
      for (int m = 0; m < size_.microbatches; ++m) {
        if (may_forward(r, m)) add(Kind::forward, r, m);
        if (may_backward(r, m)) add(Kind::backward, r, m);
      }
    }
    for (int i = 0; i < static_cast<int>(ends_.size()); ++i) {
      const End& end = ends_[static_cast<std::size_t>(i)];
      if (rank(end.rank).waits) continue;
      if (!end.sends && edge(end.edge).heard < edge(end.edge).announced) {
        add(Kind::hear, end.rank, i);
      }
      if (!end.unseen.empty() && cudaEventQuery(end.unseen.front().event) == cudaSuccess) {
        add(Kind::see, end.rank, i);
      }
    }
    const std::size_t moves = rules_.stepwise ? fake_gpu::moves() : 0;
    for (std::size_t move = 0; move < moves; ++move) add(Kind::device, 0, static_cast<int>(move));
    return all;
  }

  void take(const EdgeChoice& choice) {
    const auto which = static_cast<std::size_t>(choice.which);
    switch (choice.kind) {
      case Kind::forward:
        rank(choice.rank).forwards |= 1U << which;
        if (choice.rank + 1 < size_.ranks) give(2 * choice.rank, choice.which);
        break;
      case Kind::backward:
        rank(choice.rank).backwards |= 1U << which;
        if (choice.rank > 0) give(2 * choice.rank - 1, choice.which);
        break;
      case Kind::hear:
        hear(ends_[which]);
        break;
      case Kind::see:
        see(ends_[which]);
        break;
      case Kind::wait:
        rank(choice.rank).waits = true;
        break;
      case Kind::device:
        fake_gpu::take(which);
        break;
    }
    settle();
  }

  std::string text_of(const EdgeChoice& choice) const {
    const std::string self = "rank " + std::to_string(choice.rank);
    const std::string which = std::to_string(choice.which);
    if (choice.kind == Kind::forward) return self + " runs F" + which;
    if (choice.kind == Kind::backward) return self + " runs B" + which;
    if (choice.kind == Kind::wait) return self + " begins to wait for its device";
    if (choice.kind == Kind::device) return "the device goes on";
    const End& end = ends_[static_cast<std::size_t>(choice.which)];
    const int peer = end.sends ? edge(end.edge).to : edge(end.edge).from;
    const std::string of = " with rank " + std::to_string(peer);
    if (choice.kind == Kind::hear) return self + " hears an announcement" + of;
    return self + " sees the end of a " + (end.sends ? "send" : "receive") + of;
  }

  std::string state() const {
    std::string all;
    const auto add = [&all](std::uint64_t value) { all.push_back(static_cast<char>(value)); };
    for (const Rank& one : ranks_) {
      for (const unsigned bits :
           {one.forwards, one.backwards, one.have_forward, one.have_backward}) {
        add(bits);
      }
      add(one.waits ? 1 : 0);
    }
    for (const Edge& one : edges_) {
      for (const int m : one.messages) add(static_cast<std::uint64_t>(m));
      add(255);
      add(one.announced);
      add(one.heard);
    }
    for (const End& end : ends_) {
      add(end.machine.launched());
      add(end.machine.under_way().value_or(255));
      for (const Unseen& one : end.unseen) {
        add(cudaEventQuery(one.event) == cudaSuccess ? 254 : 253);
      }
    }
    return all + fake_gpu::state() + fake_gpu::communicators_state();
  }

  bool is_done() const {
    for (const Rank& one : ranks_) {
      if (count(one.backwards) < size_.microbatches) return false;
    }
    return true;
  }

  std::string waits() const {
    std::string all;
    for (int r = 0; r < size_.ranks; ++r) {
      if (rank(r).waits) all += "rank " + std::to_string(r) + " waits for its device\n";
    }
    for (const std::string& wait : fake_gpu::waits()) all += wait + "\n";
    return all;
  }

  std::string wrong_;

 private:
  const Rank& rank(int r) const { return ranks_[static_cast<std::size_t>(r)]; }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  const Edge& edge(int e) const { return edges_[static_cast<std::size_t>(e)]; }
  Edge& edge(int e) { return edges_[static_cast<std::size_t>(e)]; }

  bool may_forward(int r, int m) const {
    const Rank& one = rank(r);
    const bool room = count(one.forwards) - count(one.backwards) < size_.ranks - r + size_.extra;
    // The first rank numbers them: any other order is the same run with other numbers.
    if (r == 0) return room && m == count(one.forwards);
    return room && (one.forwards >> m & 1U) == 0 && (one.have_forward >> m & 1U) != 0;
  }
  bool may_backward(int r, int m) const {
    const Rank& one = rank(r);
    return (one.forwards >> m & 1U) != 0 && (one.backwards >> m & 1U) == 0 &&
           (r + 1 == size_.ranks || (one.have_backward >> m & 1U) != 0);
  }

  void prepare(End& end) {
    cudaSetDevice(end.rank);
    cudaStreamCreateWithPriority(&end.stream, cudaStreamNonBlocking, 0);
    void* data = nullptr;
    cudaMalloc(&data, static_cast<std::size_t>(size_.microbatches));
    end.data = static_cast<std::byte*>(data);
  }

  ncclConfig_t config() const {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = 1;
    config.splitShare = rules_.shared ? 1 : 0;
    config.blocking = rules_.non_blocking ? 0 : 1;
    return config;
  }

  void make_communicators() {
    if (rules_.shared) return split_communicators();
    ncclConfig_t with = config();
    std::map<std::pair<int, int>, ncclComm_t> of_pairs;  // by rank and pair
    ncclUniqueId id{};
    ncclGroupStart();
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      const bool second = rules_.pair && e % 2 == 1;
      if (!second) ncclGetUniqueId(&id);
      for (End& end : ends_) {
        if (end.edge != e) continue;
        ncclComm_t& of_pair = of_pairs[{end.rank, e / 2}];
        if (second) {
          end.comm = of_pair;
          continue;
        }
        const int number = rules_.pair ? end.rank - edge(e).from : end.sends ? 0 : 1;
        ncclCommInitRankConfig(&end.comm, 2, id, number, &with);
        of_pair = end.comm;
      }
    }
    ncclGroupEnd();
    fake_gpu::step(kEverything);
  }

  // One for each edge, out of one of all ranks.
  void split_communicators() {
    ncclConfig_t with = config();
    std::vector<ncclComm_t> all(ranks_.size());
    ncclUniqueId id{};
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int r = 0; r < size_.ranks; ++r) {
      ncclCommInitRankConfig(&all[static_cast<std::size_t>(r)], size_.ranks, id, r, &with);
    }
    ncclGroupEnd();
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      std::vector<ncclComm_t> made(ranks_.size());
      ncclGroupStart();
      for (int r = 0; r < size_.ranks; ++r) {
        const bool takes_part = r == edge(e).from || r == edge(e).to;
        const auto at = static_cast<std::size_t>(r);
        ncclCommSplit(all[at], takes_part ? 0 : NCCL_SPLIT_NOCOLOR, r == edge(e).from ? 0 : 1,
                      &made[at], nullptr);
      }
      ncclGroupEnd();
      for (End& end : ends_) {
        if (end.edge == e) end.comm = made[static_cast<std::size_t>(end.rank)];
      }
    }
  }

  // A task has made the message.
  void give(int e, int microbatch) {
    End& end = ends_[2 * static_cast<std::size_t>(e)];
    const std::size_t number = edge(e).messages.size();
    edge(e).messages.push_back(microbatch);
    end.data[number] = static_cast<std::byte>(microbatch);
    expect(end.machine.ready(number));
    launch(end);
  }

  void hear(End& end) {
    const std::uint64_t number = edge(end.edge).heard++;
    if (rules_.ahead) return;
    expect(end.machine.ready(number));
    launch(end);
  }

  void post_next(End& end) {
    if (end.machine.launched() == static_cast<std::uint64_t>(size_.microbatches)) return;
    expect(end.machine.ready(end.machine.launched()));
    launch(end);
  }

  void launch(End& end) {
    while (const auto number = is_free(end) ? end.machine.launch() : std::nullopt) {
      if (rules_.push) return push(end, *number);
      std::byte* const at = end.data + *number;
      const int peer =
          rules_.pair ? (end.rank == edge(end.edge & ~1).from ? 1 : 0) : (end.sends ? 1 : 0);
      const ncclResult_t result = end.sends ? ncclSend(at, 1, ncclChar, peer, end.comm, end.stream)
                                            : ncclRecv(at, 1, ncclChar, peer, end.comm, end.stream);
      if (result != ncclSuccess && result != ncclInProgress) wrong_ = "NCCL refuses a call";
      if (end.sends) ++edge(end.edge).announced;
      if (rules_.deep) expect(end.machine.ended());
      if (!end.sends || !rules_.deep) look_out(end, *number);
    }
  }

  // Of a communicator that does not block: the last call on it is over.
  bool is_free(const End& end) const {
    ncclResult_t state = ncclSuccess;
    if (rules_.non_blocking) ncclCommGetAsyncError(end.comm, &state);
    return state == ncclSuccess;
  }

  // By the sender alone; its receiver hears of what is there.
  void push(End& end, std::uint64_t number) {
    if (!end.sends) return see_message(end, number);
    const End& other = ends_[2 * static_cast<std::size_t>(end.edge) + 1];
    cudaMemcpyAsync(other.data + number, end.data + number, 1, cudaMemcpyDefault, end.stream);
    look_out(end, number);
  }

  void look_out(End& end, std::uint64_t number) {
    Unseen& unseen = end.unseen.emplace_back(Unseen{.number = number});
    cudaSetDevice(end.rank);
    cudaEventCreateWithFlags(&unseen.event, cudaEventDefault);
    cudaEventRecord(unseen.event, end.stream);
  }

  void see(End& end) {
    const std::uint64_t number = end.unseen.front().number;
    end.unseen.pop_front();
    if (!end.sends) {
      see_message(end, number);
    } else {
      if (!rules_.deep) expect(end.machine.ended());
      if (rules_.push) ++edge(end.edge).announced;
    }
    launch(end);
  }

  void see_message(End& end, std::uint64_t number) {
    if (!rules_.deep) expect(end.machine.ended());
    const int microbatch = edge(end.edge).messages.at(number);
    if (end.data[number] != static_cast<std::byte>(microbatch)) {
      wrong_ = "rank " + std::to_string(end.rank) + " takes message " + std::to_string(number) +
               " before it is there";
    }
    Rank& one = rank(end.rank);
    (end.edge % 2 == 0 ? one.have_forward : one.have_backward) |= 1U << microbatch;
    if (rules_.ahead) post_next(end);
  }

  void settle() {
    if (!rules_.stepwise) fake_gpu::step(kEverything);
    if (rules_.non_blocking) {
      for (End& end : ends_) launch(end);
    }
    for (int r = 0; r < size_.ranks; ++r) {
      if (rank(r).waits && fake_gpu::is_idle(r)) rank(r).waits = false;
    }
  }

  void expect(const core::Status& status) {
    if (!status.ok()) wrong_ = status.message();
  }

  EdgeSize size_;
  EdgeRules rules_;
  std::vector<Rank> ranks_;
  std::vector<Edge> edges_;
  std::vector<End> ends_;  // of edge e: the sender at 2e, the receiver behind it
};

EdgeRun::EdgeRun(const EdgeSize& size, const EdgeRules& rules)
    : chain_(std::make_unique<Chain>(size, rules)) {}
EdgeRun::~EdgeRun() = default;

std::vector<EdgeChoice> EdgeRun::choices() const { return chain_->choices(); }
void EdgeRun::take(const EdgeChoice& choice) { chain_->take(choice); }
std::string EdgeRun::text_of(const EdgeChoice& choice) const { return chain_->text_of(choice); }
std::string EdgeRun::state() const { return chain_->state(); }
bool EdgeRun::is_done() const { return chain_->is_done(); }
const std::string& EdgeRun::wrong() const { return chain_->wrong_; }
std::string EdgeRun::waits() const { return chain_->waits(); }

}  // namespace ripeline::testing_support
