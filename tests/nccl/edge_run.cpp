#include "tests/nccl/edge_run.h"

#include <nccl.h>

#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "runtime/cuda/carriers/nccl_end.h"
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/fake_nccl.h"

namespace ripeline::testing_support {

using runtime::cuda::NcclEnd;
using Kind = EdgeChoice::Kind;

namespace {

struct Unseen {
  std::uint64_t number = 0;
  cudaEvent_t event = nullptr;
};

// The sending or the receiving end of an edge, on its rank.
struct EdgeEnd {
  int rank = 0;
  bool sends = false;
  int edge = 0;
  NcclEnd machine{};
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::int16_t* data = nullptr;  // on the device, by message number
  std::deque<Unseen> unseen{};
};

struct Edge {
  int from = 0;
  int to = 0;
  std::vector<std::int16_t>
      messages{};               // by number: edge of the program * microbatches + microbatch
  std::size_t most = 0;         // the number of messages in a step
  std::uint64_t announced = 0;  // number of messages; the receiver has read `heard` of them
  std::uint64_t heard = 0;
};

}  // namespace

class EdgeRun::World {
 public:
  World(const spec::Machine& machine, const EdgeRules& rules)
      : machine_(machine), state_(machine.initial()), rules_(rules) {
    const spec::Program& program = machine.program();
    waits_.resize(static_cast<std::size_t>(program.ranks));
    fake_gpu::begin({.devices = program.ranks,
                     .connections = rules.connections,
                     .blocks = rules.one_fits ? 1 : 0,
                     .connected = true,
                     .by_itself = false});
    for (const spec::Edge& one : program.edges) {
      if (program.crosses_ranks(one)) edges_[edge_of(one)].most += microbatches();
    }
    while (first_lane_ + 1 < static_cast<int>(program.lanes.size()) &&
           !lane(first_lane_).edges.empty()) {
      ++first_lane_;
    }
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      ends_.push_back({.rank = edge(e).from, .sends = true, .edge = e});
      ends_.push_back({.rank = edge(e).to, .sends = false, .edge = e});
    }
    for (EdgeEnd& end : ends_) prepare(end);
    make_communicators();
    if (rules_.ahead) {
      for (EdgeEnd& end : ends_) {
        if (!end.sends) post_next(end);
      }
    }
    settle();
  }

  std::vector<EdgeChoice> choices() const {
    std::vector<EdgeChoice> all;
    const auto add = [&all](Kind kind, int rank, int which) {
      all.push_back({kind, static_cast<std::int8_t>(rank), static_cast<std::int16_t>(which)});
    };
    for (int r = 0; r < static_cast<int>(waits_.size()); ++r) {
      if (!waits(r) && rules_.synchronises && !fake_gpu::is_idle(r)) add(Kind::wait, r, 0);
    }
    for (int l = 0; l < static_cast<int>(machine_.program().lanes.size()); ++l) {
      for (int m = 0; m < machine_.microbatches() && !waits(lane(l).rank); ++m) {
        if (may_run(l, m)) add(Kind::run, lane(l).rank, l * machine_.microbatches() + m);
      }
    }
    for (int i = 0; i < static_cast<int>(ends_.size()); ++i) {
      const EdgeEnd& end = ends_[static_cast<std::size_t>(i)];
      if (waits(end.rank)) continue;
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
      case Kind::run:
        run(choice.which / machine_.microbatches(), choice.which % machine_.microbatches());
        break;
      case Kind::hear:
        hear(ends_[which]);
        break;
      case Kind::see:
        see(ends_[which]);
        break;
      case Kind::wait:
        waits_[static_cast<std::size_t>(choice.rank)] = true;
        break;
      case Kind::device:
        fake_gpu::take(which);
        break;
    }
    settle();
  }

  std::string text_of(const EdgeChoice& choice) const {
    const std::string self = "rank " + std::to_string(choice.rank);
    if (choice.kind == Kind::run) {
      return self + " runs " +
             machine_.program().task_name(choice.which / machine_.microbatches(),
                                          choice.which % machine_.microbatches());
    }
    if (choice.kind == Kind::wait) return self + " begins to wait for its device";
    if (choice.kind == Kind::device) return "the device goes on";
    const EdgeEnd& end = ends_[static_cast<std::size_t>(choice.which)];
    const int peer = end.sends ? edge(end.edge).to : edge(end.edge).from;
    const std::string of = " with rank " + std::to_string(peer);
    if (choice.kind == Kind::hear) return self + " hears an announcement" + of;
    return self + " sees the end of a " + (end.sends ? "send" : "receive") + of;
  }

  std::string state() const {
    std::string all;
    const auto add = [&all](std::uint64_t value) { all.push_back(static_cast<char>(value)); };
    for (const auto task : state_.tasks) add(static_cast<std::uint64_t>(task));
    for (const auto message : state_.messages) add(static_cast<std::uint64_t>(message));
    for (const bool one : waits_) add(one ? 1 : 0);
    for (const Edge& one : edges_) {
      for (const int m : one.messages) {
        add(static_cast<std::uint64_t>(m % 256));
        add(static_cast<std::uint64_t>(m / 256));
      }
      add(255);
      add(one.announced);
      add(one.heard);
    }
    for (const EdgeEnd& end : ends_) {
      add(end.machine.launched());
      add(end.machine.under_way().value_or(255));
      for (const Unseen& one : end.unseen) {
        add(cudaEventQuery(one.event) == cudaSuccess ? 254 : 253);
      }
    }
    return all + fake_gpu::state() + fake_gpu::communicators_state();
  }

  bool is_done() const { return machine_.done(state_); }

  std::string waits() const {
    std::string all;
    for (int r = 0; r < static_cast<int>(waits_.size()); ++r) {
      if (waits(r)) all += "rank " + std::to_string(r) + " waits for its device\n";
    }
    for (const std::string& wait : fake_gpu::waits()) all += wait + "\n";
    return all;
  }

  std::string wrong_;

 private:
  bool waits(int rank) const { return waits_[static_cast<std::size_t>(rank)]; }
  const spec::Lane& lane(int l) const {
    return machine_.program().lanes[static_cast<std::size_t>(l)];
  }
  std::size_t microbatches() const { return static_cast<std::size_t>(machine_.microbatches()); }
  const Edge& edge(int e) const { return edges_[static_cast<std::size_t>(e)]; }
  Edge& edge(int e) { return edges_[static_cast<std::size_t>(e)]; }

  // Finds or makes the edge between the two ranks of the program's edge `one`.
  std::size_t edge_of(const spec::Edge& one) {
    const int from = lane(one.producer).rank;
    const int to = lane(one.consumer).rank;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from == from && edges_[e].to == to) return e;
    }
    edges_.push_back({.from = from, .to = to});
    return edges_.size() - 1;
  }

  bool may_run(int l, int m) const {
    // One lane starts its tasks in the order of their numbers: other orders only renumber the run.
    if (l == first_lane_ && m > 0 && !machine_.has_started(state_, l, m - 1)) return false;
    return machine_.may_start(state_, l, m);
  }

  void run(int l, int m) {
    for (const auto what : {spec::Event::Do::start, spec::Event::Do::end}) {
      machine_.step(state_, {.what = what, .lane = l, .microbatch = m});
    }
    for (const int e : lane(l).feeds) {
      const spec::Edge& one = machine_.program().edges[static_cast<std::size_t>(e)];
      if (machine_.program().crosses_ranks(one)) {
        give(edge_of(one), static_cast<std::int16_t>(e * machine_.microbatches() + m));
      }
    }
  }

  void prepare(EdgeEnd& end) {
    cudaSetDevice(end.rank);
    cudaStreamCreateWithPriority(&end.stream, cudaStreamNonBlocking, 0);
    void* data = nullptr;
    cudaMalloc(&data, edge(end.edge).most * sizeof *end.data);
    end.data = static_cast<std::int16_t*>(data);
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
    std::map<std::pair<int, int>, ncclUniqueId>
        ids;  // by the two ranks, sorted if both directions share
    std::map<std::pair<int, std::pair<int, int>>, ncclComm_t> made;  // by rank, and the two ranks
    ncclGroupStart();
    for (EdgeEnd& end : ends_) {
      const auto ranks = ranks_of(end);
      if (!ids.contains(ranks)) ncclGetUniqueId(&ids[ranks]);
      ncclComm_t& comm = made[{end.rank, ranks}];
      if (comm == nullptr) {
        ncclCommInitRankConfig(&comm, 2, ids[ranks], end.rank == ranks.first ? 0 : 1, &with);
      }
      end.comm = comm;
    }
    ncclGroupEnd();
    fake_gpu::step(fake_gpu::kEverything);
  }
  // The ranks of the end's communicator, in the communicator's own order.
  std::pair<int, int> ranks_of(const EdgeEnd& end) const {
    const Edge& one = edge(end.edge);
    if (rules_.pair && one.to < one.from) return {one.to, one.from};
    return {one.from, one.to};
  }

  // Makes one communicator for each edge by splitting a communicator of all ranks.
  void split_communicators() {
    const int ranks = machine_.program().ranks;
    ncclConfig_t with = config();
    std::vector<ncclComm_t> all(waits_.size());
    ncclUniqueId id{};
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int r = 0; r < ranks; ++r) {
      ncclCommInitRankConfig(&all[static_cast<std::size_t>(r)], ranks, id, r, &with);
    }
    ncclGroupEnd();
    for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
      std::vector<ncclComm_t> made(waits_.size());
      ncclGroupStart();
      for (int r = 0; r < ranks; ++r) {
        const bool takes_part = r == edge(e).from || r == edge(e).to;
        const auto at = static_cast<std::size_t>(r);
        ncclCommSplit(all[at], takes_part ? 0 : NCCL_SPLIT_NOCOLOR, r == edge(e).from ? 0 : 1,
                      &made[at], nullptr);
      }
      ncclGroupEnd();
      for (EdgeEnd& end : ends_) {
        if (end.edge == e) end.comm = made[static_cast<std::size_t>(end.rank)];
      }
    }
  }

  // Called when a task has produced the message.
  void give(std::size_t e, std::int16_t message) {
    EdgeEnd& end = ends_[2 * e];
    const std::size_t number = edges_[e].messages.size();
    edges_[e].messages.push_back(message);
    end.data[number] = message;
    expect(end.machine.ready(number));
    launch(end);
  }

  void hear(EdgeEnd& end) {
    const std::uint64_t number = edge(end.edge).heard++;
    if (rules_.ahead) return;
    expect(end.machine.ready(number));
    launch(end);
  }

  void post_next(EdgeEnd& end) {
    if (end.machine.launched() == edge(end.edge).most) return;
    expect(end.machine.ready(end.machine.launched()));
    launch(end);
  }

  void launch(EdgeEnd& end) {
    while (const auto number = is_free(end) ? end.machine.launch() : std::nullopt) {
      if (rules_.push) return push(end, *number);
      std::int16_t* const at = end.data + *number;
      const int peer = end.rank == ranks_of(end).first ? 1 : 0;
      const ncclResult_t result =
          end.sends ? ncclSend(at, sizeof *at, ncclChar, peer, end.comm, end.stream)
                    : ncclRecv(at, sizeof *at, ncclChar, peer, end.comm, end.stream);
      if (result != ncclSuccess && result != ncclInProgress) wrong_ = "NCCL refuses a call";
      if (end.sends) ++edge(end.edge).announced;
      if (rules_.deep) expect(end.machine.ended());
      if (!end.sends || !rules_.deep) look_out(end, *number);
    }
  }

  // Whether the last call on this communicator is over. Always true if communicators block.
  bool is_free(const EdgeEnd& end) const {
    ncclResult_t state = ncclSuccess;
    if (rules_.non_blocking) ncclCommGetAsyncError(end.comm, &state);
    return state == ncclSuccess;
  }

  // The sender alone copies the message; the receiver only sees that it has arrived.
  void push(EdgeEnd& end, std::uint64_t number) {
    if (!end.sends) return see_message(end, number);
    const EdgeEnd& other = ends_[2 * static_cast<std::size_t>(end.edge) + 1];
    cudaMemcpyAsync(other.data + number, end.data + number, sizeof *end.data, cudaMemcpyDefault,
                    end.stream);
    look_out(end, number);
  }

  void look_out(EdgeEnd& end, std::uint64_t number) {
    Unseen& unseen = end.unseen.emplace_back(Unseen{.number = number});
    cudaSetDevice(end.rank);
    cudaEventCreateWithFlags(&unseen.event, cudaEventDefault);
    cudaEventRecord(unseen.event, end.stream);
  }

  void see(EdgeEnd& end) {
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

  void see_message(EdgeEnd& end, std::uint64_t number) {
    if (!rules_.deep) expect(end.machine.ended());
    const std::int16_t message = edge(end.edge).messages.at(number);
    if (end.data[number] != message) {
      wrong_ = "rank " + std::to_string(end.rank) + " takes message " + std::to_string(number) +
               " before it is there";
    }
    const int e = message / machine_.microbatches();
    const spec::Event arrival{
        .what = spec::Event::Do::arrive,
        .lane = machine_.program().edges[static_cast<std::size_t>(e)].consumer,
        .microbatch = message % machine_.microbatches(),
        .edge = e};
    if (!machine_.is_enabled(state_, arrival, spec::Machine::Chooser::any)) {
      wrong_ = machine_.describe(arrival) + ", which it may not";
    }
    machine_.step(state_, arrival);
    if (rules_.ahead) post_next(end);
  }

  void settle() {
    if (!rules_.stepwise) fake_gpu::step(fake_gpu::kEverything);
    if (rules_.non_blocking) {
      for (EdgeEnd& end : ends_) launch(end);
    }
    for (int r = 0; r < static_cast<int>(waits_.size()); ++r) {
      if (waits(r) && fake_gpu::is_idle(r)) waits_[static_cast<std::size_t>(r)] = false;
    }
  }

  void expect(const core::Status& status) {
    if (!status.ok()) wrong_ = status.message();
  }

  const spec::Machine& machine_;
  spec::Machine::State state_;
  EdgeRules rules_;
  int first_lane_ = 0;       // the first lane without needs
  std::vector<bool> waits_;  // by rank: whether it is in a call that waits for its device
  std::vector<Edge> edges_;
  std::vector<EdgeEnd> ends_;  // edge e: the sender at 2e, the receiver at 2e + 1
};

EdgeRun::EdgeRun(const spec::Machine& machine, const EdgeRules& rules)
    : world_(std::make_unique<World>(machine, rules)) {}
EdgeRun::~EdgeRun() = default;

std::vector<EdgeChoice> EdgeRun::choices() const { return world_->choices(); }
void EdgeRun::take(const EdgeChoice& choice) { world_->take(choice); }
std::string EdgeRun::text_of(const EdgeChoice& choice) const { return world_->text_of(choice); }
std::string EdgeRun::state() const { return world_->state(); }
bool EdgeRun::is_done() const { return world_->is_done(); }
const std::string& EdgeRun::wrong() const { return world_->wrong_; }
std::string EdgeRun::waits() const { return world_->waits(); }

}  // namespace ripeline::testing_support
