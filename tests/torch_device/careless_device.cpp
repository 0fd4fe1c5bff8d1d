#include "tests/torch_device/careless_device.h"

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace ripeline::testing_support {

using core::OpKind;
using core::Status;
using runtime::Call;
using runtime::Ended;
using runtime::TaskInfo;
using runtime::TorchDevice;

namespace {

using Key = std::pair<core::LaneId, int>;
Key key_of(const TaskInfo& task) { return {task.task.lane, task.task.microbatch}; }

bool is_told_to_work(Mistake mistake, OpKind kind) {
  switch (mistake) {
    case Mistake::source_let_go:
      return kind == OpKind::offload;
    case Mistake::arena_let_go:
    case Mistake::reload_seems_over:
      return kind == OpKind::reload;
    case Mistake::reloaded_let_go:
      return kind == OpKind::backward;
    default:
      return false;
  }
}

bool is_told_to_rank(Mistake mistake, OpKind kind) {
  return kind == OpKind::reload &&
         (mistake == Mistake::reload_seems_over || mistake == Mistake::only_rank_is_wrong);
}

// Tells the work too early that a task has ended. Any thread may call this object.
class EarlyWork final : public runtime::Work {
 public:
  EarlyWork(runtime::Work& work, Mistake mistake) : work_(work), mistake_(mistake) {}

  Status begin_step(std::int64_t step, int microbatches) override {
    return work_.begin_step(step, microbatches);
  }
  Status run(Call& call) override {
    Status status = work_.run(call);
    if (!status.ok()) return status;
    if (is_told_to_work(mistake_, call.task.kind)) work_.ended(call.task);
    if (is_told_to_rank(mistake_, call.task.kind)) {
      const std::lock_guard lock(mutex_);
      enqueued_.push_back(call.task);
    }
    return status;
  }
  void ended(const TaskInfo& task) override {
    if (!is_told_to_work(mistake_, task.kind)) work_.ended(task);
  }
  bool runs_beside(const TaskInfo& task) const override { return work_.runs_beside(task); }

  bool take_enqueued(TaskInfo& task) {
    const std::lock_guard lock(mutex_);
    if (enqueued_.empty()) return false;
    task = enqueued_.front();
    enqueued_.pop_front();
    return true;
  }

 private:
  runtime::Work& work_;
  const Mistake mistake_;
  std::mutex mutex_;
  std::deque<TaskInfo> enqueued_;  // guarded by the mutex
};

// Tells the rank too early that a task has ended, and not again later.
class EarlyEngine final : public runtime::TaskEngine {
 public:
  EarlyEngine(TorchDevice& device, runtime::Work& work, Mistake mistake,
              const core::ProgramFacts& facts, std::function<void()> wake,
              runtime::BeforeTask before_task)
      : work_(work, mistake),
        engine_(device.make_engine(work_, facts, std::move(wake), std::move(before_task))) {}

  void begin_step(std::int64_t step, int microbatches) override {
    engine_->begin_step(step, microbatches);
  }
  void start(Call call) override { engine_->start(std::move(call)); }
  void start_pair(Call first, Call second) override {
    engine_->start_pair(std::move(first), std::move(second));
  }
  bool ended(Ended& out) override {
    TaskInfo task;
    if (work_.take_enqueued(task)) {
      told_.insert(key_of(task));
      out = {.call = {.task = task}, .begin = task.start, .end = task.start};
      return true;
    }
    while (engine_->ended(out)) {
      if (!out.status.ok() || told_.erase(key_of(out.call.task)) == 0) return true;
    }
    return false;
  }
  [[nodiscard]] core::Time next() const override { return engine_->next(); }

 private:
  EarlyWork work_;
  std::unique_ptr<runtime::TaskEngine> engine_;
  std::set<Key> told_;
};

class Careless final : public TorchDevice {
 public:
  Careless(std::unique_ptr<TorchDevice> device, Mistake mistake)
      : device_(std::move(device)), mistake_(mistake) {}

  [[nodiscard]] c10::Device device() const override { return device_->device(); }
  [[nodiscard]] std::optional<c10::Stream> stream(core::Engine engine) const override {
    return device_->stream(engine);
  }
  runtime::network::BufferPool* receive_pool() override { return device_->receive_pool(); }
  runtime::network::BufferPool* arena() override { return device_->arena(); }
  Status copy(Direction direction, void* onto, const void* from, std::size_t size,
              core::Engine engine) override {
    return device_->copy(direction, onto, from, size, engine);
  }
  Status carry(std::unique_ptr<runtime::Transport>& transport, std::chrono::nanoseconds limit,
               const runtime::Termination* termination) override {
    return device_->carry(transport, limit, termination);
  }
  Status find_nccl(const runtime::cuda::NcclLibrary*& library,
                   std::int32_t& version) const override {
    return device_->find_nccl(library, version);
  }
  Status identify(std::string& identity) const override { return device_->identify(identity); }
  [[nodiscard]] runtime::DeviceMemoryUse memory_use() const override {
    return device_->memory_use();
  }
  [[nodiscard]] std::unique_ptr<runtime::TaskEngine> make_engine(
      runtime::Work& work, const core::ProgramFacts& facts, std::function<void()> wake,
      runtime::BeforeTask before_task) override {
    return std::make_unique<EarlyEngine>(*device_, work, mistake_, facts, std::move(wake),
                                         std::move(before_task));
  }

 private:
  std::unique_ptr<TorchDevice> device_;
  const Mistake mistake_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, Mistake mistake) {
  constexpr const char* kNames[] = {"none",
                                    "source_let_go",
                                    "arena_let_go",
                                    "reloaded_let_go",
                                    "reload_seems_over",
                                    "only_rank_is_wrong"};
  return out << kNames[static_cast<std::size_t>(mistake)];
}

Status open_careless(Mistake mistake, std::unique_ptr<TorchDevice>& device) {
  std::unique_ptr<TorchDevice> fake;
  if (Status s = TorchDevice::open("fake", 0, fake); !s.ok()) return s;
  device = std::make_unique<Careless>(std::move(fake), mistake);
  return {};
}

}  // namespace ripeline::testing_support
