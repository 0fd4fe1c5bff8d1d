// The state of the fake of NCCL: communicators, the messages between their ranks, and kernels.
//
// Everything lives until the next fake_gpu::begin(), so pointers stay valid. Callers hold the lock.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fake_gpu/device.h"

namespace fake_gpu {

// The messages from one rank of a communicator to another. A message's number indexes both lists.
struct Channel {
  struct Send {
    std::int64_t tag = -1;
    bool left = false;
    std::vector<std::byte> data;  // set while the message has left and has not been received
  };
  struct Receive {
    std::int64_t tag = -1;
    bool posted = false;
  };
  bool sender_in = false;  // the sender is in the connecting call, or after it
  bool receiver_in = false;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  [[nodiscard]] bool is_connected() const { return sender_in && receiver_in; }
};

struct Sum {
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat;
  ncclRedOp_t operation = ncclSum;
  std::vector<const void*> inputs = {};  // by rank; null if the rank's kernel has not started
  std::vector<std::byte> result = {};    // set when all have started
};

struct SplitRound;

// The state of a communicator, which all its ranks share.
struct Clique {
  int number = 0;
  std::uint64_t hash = 0;
  std::vector<ncclComm*> members;                   // by rank; null if the rank has not joined yet
  std::map<std::pair<int, int>, Channel> channels;  // by sender and receiver
  std::vector<Sum> sums;
  std::vector<std::unique_ptr<SplitRound>> splits;
  [[nodiscard]] bool is_complete() const;
};

struct SplitRound {
  struct Part {
    int color = 0;
    int key = 0;
    bool came = false;
  };
  std::vector<Part> parts;                          // by rank
  std::map<int, std::shared_ptr<Clique>> children;  // by color
  [[nodiscard]] bool is_complete() const;
};

class Plan;
// Resources that communicators may share after a split: kernels with the same resources take turns.
struct Resources {
  std::shared_ptr<Plan> last;
};

// A send, a receive or a sum of one rank.
struct Part {
  enum class Kind { sum, send, receive } kind = Kind::send;
  int peer = -1;
  const void* from = nullptr;
  void* onto = nullptr;
  std::size_t size = 0;  // bytes; for a sum, elements
  ncclDataType_t type = ncclChar;
  ncclRedOp_t operation = ncclSum;
  std::int64_t tag = -1;
  std::size_t number = 0;
  bool ended = false;
};

// The kernel that runs one group's parts of one communicator at one rank.
class Plan final : public Kernel {
 public:
  // Numbers the parts; their memory belongs to the process.
  Plan(ncclComm& comm, std::vector<Part> parts, int process);
  [[nodiscard]] bool may_start() const override;
  void start() override;
  [[nodiscard]] bool may_go_on() const override;
  void go_on() override;
  [[nodiscard]] bool is_over() const override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string waits_for() const override;

 private:
  [[nodiscard]] Channel& channel(const Part& part) const;
  [[nodiscard]] std::string name_of(const Part& part) const;
  void number(Part& part);
  void start_sum(const Part& part);
  // Posts the plan's sends and receives, after its sums.
  void post();
  [[nodiscard]] bool may_end(const Part& part) const;
  void end(Part& part);
  void take(const Part& part);

  ncclComm& comm_;
  std::vector<Part> parts_;
  int process_;
  bool posted_ = false;
  std::shared_ptr<Plan> before_;  // the previous plan with the same resources
};

struct World {
  std::vector<std::unique_ptr<ncclComm>> comms;
  std::map<std::int64_t, std::shared_ptr<Clique>> by_id;
  std::vector<std::shared_ptr<Clique>> cliques;  // in the order in which they were made
  std::int64_t ids = 0;

  std::shared_ptr<Clique> make_clique(std::size_t ranks);
  ncclComm& make_comm(std::shared_ptr<Clique> clique, int rank, const ncclConfig_t* config,
                      const ncclComm* parent);
};
// The world of the current device.
[[nodiscard]] World& world();

}  // namespace fake_gpu

// A communicator; NCCL declares the type and leaves its definition to the library.
struct ncclComm {
  std::shared_ptr<fake_gpu::Clique> clique;
  std::shared_ptr<fake_gpu::Resources> resources;
  int rank = 0;
  bool blocking = true;
  bool split_share = false;
  int blocks = 1;
  bool alive = true;
  bool aborted = false;
  ncclResult_t state = ncclSuccess;  // used if the communicator does not block
  std::thread::id inside{};          // the thread that is inside a call; no id if none is
  std::size_t splits = 0;
  std::size_t sums = 0;
  std::vector<std::shared_ptr<fake_gpu::Plan>> plans;  // launched; some may be over

  [[nodiscard]] bool is_idle() const;
};
