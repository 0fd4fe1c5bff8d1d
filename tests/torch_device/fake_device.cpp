// `fake`: a device of LibTorch on the fake CUDA runtime, for programs that link that runtime.
//
// Operators run on the host: they read values from the device and write them back. A value is
// written by a copy on the current stream, which ends when the fake device has run it; a read waits
// only for the reader's stream. So a value that was written on one stream does not exist yet for
// another stream that does not wait, nor for the host. As in LibTorch's caching allocator, memory
// that was allocated on a stream is reused on that stream at once, even if another stream still
// reads it. To reveal such a reader, the stream overwrites memory as soon as it is released. The
// values that an operator has read must still exist when its stream reaches the next event, since
// the kernels of a GPU read them late.
//
// FAKE_DEVICES is the number of devices (default 1); FAKE_HANGS names a call that hangs. The
// threads of ranks, of their tasks and of autograd wait for each other for up to half a minute.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "tests/fake_gpu/device.h"
#include "tests/fake_gpu/fake_gpu.h"

namespace {

using at::Tensor;
using ripeline::runtime::cuda::Event;
using ripeline::runtime::cuda::Stream;

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

void check(const ripeline::core::Status& status) { TORCH_CHECK(status.ok(), status.message()); }
void check(cudaError_t error) {
  check(ripeline::runtime::cuda::status_of(error, "use the fake device"));
}

thread_local bool is_in_operator = false;
thread_local bool is_staging = false;  // its events are not the program's

// Makes a call hang: FAKE_HANGS=cudaEventQuery:100 names the call that follows the hundredth.
void hang_as_told() {
  const char* const text = std::getenv("FAKE_HANGS");
  if (text == nullptr) return;
  const std::string told = text;
  const std::size_t colon = told.find(':');
  if (colon != std::string::npos) {
    fake_gpu::hang(told.substr(0, colon), std::atoi(text + colon + 1));
  }
}

// Returns the number of devices; the first call begins the fake.
c10::DeviceIndex devices() {
  static const int count = [] {
    const char* const text = std::getenv("FAKE_DEVICES");
    const int asked = text == nullptr ? 1 : std::max(1, std::atoi(text));
    // Memory is ample, since a failed run may leave memory behind to which others still write.
    fake_gpu::begin(
        {.devices = asked, .memory = std::size_t{1} << 40, .patience = std::chrono::seconds(30)});
    hang_as_told();
    return asked;
  }();
  return static_cast<c10::DeviceIndex>(count);
}

c10::Device current_device() {
  devices();
  int number = 0;
  check(cudaGetDevice(&number));
  return {kType, static_cast<c10::DeviceIndex>(number)};
}

c10::Device set_device(c10::Device device) {
  const c10::Device before = current_device();
  if (device.has_index() && device != before) check(cudaSetDevice(device.index()));
  return before;
}

// The current stream by device; 0 is the default stream, which has no owner.
thread_local std::map<c10::DeviceIndex, c10::StreamId> current;

// The streams of a device by number; they exist until the process ends.
class Streams {
 public:
  c10::StreamId add(c10::Device device) {
    const std::lock_guard lock(mutex_);
    std::deque<Stream>& of_device = streams_[device.index()];
    if (of_device.empty()) make(device, of_device);
    return make(device, of_device);
  }
  cudaStream_t handle(c10::Device device, c10::StreamId stream) {
    const std::lock_guard lock(mutex_);
    std::deque<Stream>& of_device = streams_[device.index()];
    if (of_device.empty()) make(device, of_device);
    return of_device.at(static_cast<std::size_t>(stream)).get();
  }

 private:
  static c10::StreamId make(c10::Device device, std::deque<Stream>& onto) {
    const c10::Device before = set_device(device);
    check(Stream::make(Stream::Priority::usual, onto.emplace_back()));
    set_device(before);
    return static_cast<c10::StreamId>(onto.size() - 1);
  }
  std::mutex mutex_;
  std::map<c10::DeviceIndex, std::deque<Stream>> streams_;
};

Streams& streams() {
  static auto* const all = new Streams;  // exists until the process ends, as in LibTorch
  return *all;
}

cudaStream_t current_handle() {
  const c10::Device device = current_device();
  return streams().handle(device, current[device.index()]);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device next) const override { return set_device(next); }
  c10::Device getDevice() const override { return current_device(); }
  void setDevice(c10::Device next) const override { set_device(next); }
  void uncheckedSetDevice(c10::Device next) const noexcept override { set_device(next); }
  c10::DeviceIndex deviceCount() const noexcept override { return devices(); }

  c10::Stream getStream(c10::Device of) const override {
    const c10::Device device = of.has_index() ? of : current_device();
    return stream(device, current[device.index()]);
  }
  c10::Stream getDefaultStream(c10::Device of) const override { return stream(of, 0); }
  c10::Stream getStreamFromGlobalPool(c10::Device of, bool) const override {
    return stream(of, streams().add(of));
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const c10::StreamId before = std::exchange(current[next.device_index()], next.id());
    return stream(next.device(), before);
  }
  void* getStreamNativeHandle(const c10::Stream of) const override { return handle(of); }
  void synchronizeStream(const c10::Stream& of) const override {
    check(cudaStreamSynchronize(handle(of)));
  }

  void record(void** event, const c10::Stream& of, c10::DeviceIndex,
              c10::EventFlag) const override {
    if (*event == nullptr) {
      const c10::Device before = set_device(of.device());
      auto made = std::make_unique<Event>();
      check(Event::make(*made));
      *event = made.release();
      set_device(before);
    }
    check(static_cast<Event*>(*event)->record(handle(of)));
  }
  void block(void* event, const c10::Stream& of) const override {
    if (event != nullptr) check(static_cast<Event*>(event)->hold_up(handle(of)));
  }
  bool queryEvent(void* event) const override {
    bool reached = true;
    if (event != nullptr) check(static_cast<Event*>(event)->query(reached));
    return reached;
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) check(cudaEventSynchronize(static_cast<Event*>(event)->get()));
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }

 private:
  static c10::Stream stream(c10::Device device, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, device, id);
  }
  static cudaStream_t handle(const c10::Stream& of) {
    return streams().handle(of.device(), of.id());
  }
};

// The bytes that operators have read since their stream's last event, by stream and address.
class Reads {
 public:
  Reads() {
    fake_gpu::before_records([](cudaStream_t stream) { all().check_on(stream); });
  }
  static Reads& all() {
    static auto* const reads = new Reads;
    return *reads;
  }

  void note(cudaStream_t stream, const void* from, const void* values, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(values);
    const std::lock_guard lock(mutex_);
    reads_[{stream, static_cast<const std::byte*>(from)}] = {first, first + size};
  }
  // Forgets reads of memory that the stream itself overwrites.
  void forget(cudaStream_t stream, const void* onto) {
    const auto* const at = static_cast<const std::byte*>(onto);
    const std::lock_guard lock(mutex_);
    auto found = reads_.upper_bound({stream, at});
    if (found == reads_.begin()) return;
    --found;
    if (found->first.first != stream || at >= found->first.second + found->second.size()) return;
    reads_.erase(found);
  }

 private:
  struct Check {
    Check(const std::byte* at, std::vector<std::byte> read) : from(at), values(std::move(read)) {}
    const std::byte* from;
    std::vector<std::byte> values;
  };
  // Called when the device reaches the check in its stream; blocks are never freed.
  static void check_values(void* argument) {
    const std::unique_ptr<Check> one(static_cast<Check*>(argument));
    if (std::equal(one->values.begin(), one->values.end(), one->from)) return;
    fake_gpu::misuse("memory is written to that an operator of another stream still has to read");
  }
  void check_on(cudaStream_t stream) {
    if (is_staging) return;
    // The lock is held until the checks are enqueued, so writes after forget() come after them.
    const std::lock_guard lock(mutex_);
    const auto first = reads_.lower_bound({stream, nullptr});
    auto next = first;
    for (; next != reads_.end() && next->first.first == stream; ++next) {
      auto one = std::make_unique<Check>(next->first.second, std::move(next->second));
      if (cudaLaunchHostFunc(stream, &check_values, one.get()) == cudaSuccess) {
        static_cast<void>(one.release());  // the call owns it
      }
    }
    reads_.erase(first, next);
  }

  std::mutex mutex_;
  std::map<std::pair<cudaStream_t, const std::byte*>, std::vector<std::byte>> reads_;
};

// Blocks of memory by size, and by the device and the stream on which they were allocated.
class Memory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    auto block = std::make_unique<Block>();
    block->size = std::max<std::size_t>(size, 1);
    const c10::Device device = current_device();
    block->device = device.index();
    block->stream = current[block->device];
    std::vector<void*>& free = free_of(*block);
    const std::lock_guard lock(mutex_);
    if (free.empty()) {
      check(cudaMalloc(&block->data, block->size));
      ++stats_.num_device_alloc;
    } else {
      block->data = free.back();
      free.pop_back();
    }
    stats_.allocated_bytes.front().increase(block->size);
    void* const data = block->data;
    return {data, block.release(), &give_back, device};
  }
  void copy_data(void*, const void*, std::size_t) const override {
    TORCH_CHECK(false, "the fake device copies no storage by itself");
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  static bool is_of(const c10::Storage& storage) {
    return storage.data_ptr().get_deleter() == &give_back;
  }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t size = 0;
    c10::DeviceIndex device = 0;
    c10::StreamId stream = 0;
  };
  std::vector<void*>& free_of(const Block& block) {
    const std::lock_guard lock(mutex_);
    return free_[{block.device, block.stream, block.size}];
  }
  static void give_back(void* context);

  std::mutex mutex_;
  std::map<std::tuple<c10::DeviceIndex, c10::StreamId, std::size_t>, std::vector<void*>> free_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

Memory& memory() {
  static auto* const all = new Memory;
  return *all;
}

constexpr std::size_t kPattern = std::size_t{1} << 16;

// Pinned bytes of a fixed value; they exist until the process ends.
struct Pattern {
  Pattern() {
    check(cudaHostAlloc(&bytes, kPattern, cudaHostAllocPortable));
    std::memset(bytes, 0x5A, kPattern);
  }
  void* bytes = nullptr;
};

// Overwrites a block on its stream, because other streams may not use the block any more.
void overwrite(void* data, std::size_t size, cudaStream_t stream) {
  static const Pattern pattern;
  Reads::all().forget(stream, data);
  for (std::size_t at = 0; at < size; at += kPattern) {
    // This error is ignored; if the device has failed, other calls return its error.
    static_cast<void>(cudaMemcpyAsync(static_cast<std::byte*>(data) + at, pattern.bytes,
                                      std::min(kPattern, size - at), cudaMemcpyHostToDevice,
                                      stream));
  }
}

void Memory::give_back(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  overwrite(block->data, block->size, streams().handle({kType, block->device}, block->stream));
  std::vector<void*>& free = memory().free_of(*block);
  const std::lock_guard lock(memory().mutex_);
  memory().stats_.allocated_bytes.front().decrease(block->size);
  free.push_back(block->data);
}

// Pinned memory of the host for copies to and from the current device; reused when its copies have
// ended.
class Staging {
 public:
  void copy_to_device(void* onto, const void* from, std::size_t size) {
    if (size == 0) return;
    Buffer buffer = take(size);
    std::memcpy(buffer.data, from, size);
    Reads::all().forget(current_handle(), onto);
    check(cudaMemcpyAsync(onto, buffer.data, size, cudaMemcpyHostToDevice, current_handle()));
    give_back(std::move(buffer));
  }
  void copy_to_host(void* onto, const void* from, std::size_t size) {
    if (size == 0) return;
    Buffer buffer = take(size);
    check(cudaMemcpyAsync(buffer.data, from, size, cudaMemcpyDeviceToHost, current_handle()));
    check(cudaStreamSynchronize(current_handle()));  // may wait for other threads
    std::memcpy(onto, buffer.data, size);
    give_back(std::move(buffer));
  }

 private:
  struct Buffer {
    void* data = nullptr;
    std::size_t size = 0;
    c10::DeviceIndex device = 0;
    Event copied;
  };
  static void record(Event& event) {
    is_staging = true;
    const ripeline::core::Status status = event.record(current_handle());
    is_staging = false;
    check(status);
  }
  Buffer take(std::size_t size) {
    Buffer made;
    made.size = size;
    made.device = current_device().index();
    {
      const std::lock_guard lock(mutex_);
      for (Buffer& buffer : buffers_) {
        if (buffer.size < size || buffer.device != made.device) continue;
        bool reached = false;
        if (!buffer.copied.query(reached).ok() || !reached) continue;
        std::swap(buffer, buffers_.back());
        Buffer taken = std::move(buffers_.back());
        buffers_.pop_back();
        return taken;
      }
    }
    check(cudaHostAlloc(&made.data, size, cudaHostAllocPortable));
    check(Event::make(made.copied));
    return made;
  }
  void give_back(Buffer buffer) {
    record(buffer.copied);
    const std::lock_guard lock(mutex_);
    buffers_.push_back(std::move(buffer));
  }
  std::mutex mutex_;
  std::vector<Buffer> buffers_;
};

Staging& staging() {
  static auto* const all = new Staging;
  return *all;
}

// Memory that the host pins for a caller. As in LibTorch it is reused, because freeing it may wait
// for a device. Copies from it are made to staging memory at once.
class Pinned final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    auto block = std::make_unique<Block>(Block{.data = nullptr, .size = size});
    {
      const std::lock_guard lock(mutex());
      std::vector<void*>& free = free_blocks()[size];
      if (!free.empty()) {
        block->data = free.back();
        free.pop_back();
      }
    }
    if (block->data == nullptr) {
      check(cudaHostAlloc(&block->data, std::max<std::size_t>(size, 1), cudaHostAllocPortable));
    }
    void* const data = block->data;
    return {data, block.release(), &give_back, c10::kCPU};
  }
  void copy_data(void* onto, const void* from, std::size_t size) const override {
    default_copy_data(onto, from, size);
  }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t size = 0;
  };
  static void give_back(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    const std::lock_guard lock(mutex());
    free_blocks()[block->size].push_back(block->data);
  }
  static std::mutex& mutex() {
    static std::mutex of_all;
    return of_all;
  }
  static std::map<std::size_t, std::vector<void*>>& free_blocks() {
    static auto* const all = new std::map<std::size_t, std::vector<void*>>;
    return *all;
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return devices(); }
  // Operators draw random numbers on the host.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static auto* const pinned = new Pinned;
    return pinned;
  }
};

// A copy of the tensor's storage on the host, with the same view.
Tensor on_host(const Tensor& tensor) {
  const c10::DeviceGuard guard(tensor.device());
  const c10::Storage& storage = tensor.storage();
  const Tensor bytes = at::empty({static_cast<std::int64_t>(storage.nbytes())},
                                 at::TensorOptions().dtype(at::kByte));
  staging().copy_to_host(bytes.mutable_data_ptr(), storage.data(), storage.nbytes());
  if (is_in_operator && Memory::is_of(storage)) {
    Reads::all().note(current_handle(), storage.data(), bytes.const_data_ptr(), storage.nbytes());
  }
  return at::empty({0}, tensor.options().device(at::kCPU))
      .set_(bytes.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

// Writes to `onto`, even if its strides leave gaps.
void write(const Tensor& from, const Tensor& onto) {
  const c10::DeviceGuard guard(onto.device());
  if (onto.is_contiguous()) {
    const Tensor values = from.to(onto.scalar_type()).expand(onto.sizes()).contiguous();
    staging().copy_to_device(onto.mutable_data_ptr(), values.const_data_ptr(), values.nbytes());
    return;
  }
  const Tensor whole = on_host(onto);
  whole.copy_(from);
  const c10::Storage& storage = onto.storage();
  staging().copy_to_device(storage.mutable_data(), whole.storage().data(), storage.nbytes());
}

Tensor copy_from(const Tensor& from, const Tensor& onto, bool /*non_blocking*/) {
  const Tensor values = from.is_cpu() ? from : on_host(from);
  if (onto.is_cpu()) {
    onto.copy_(values);
  } else {
    write(values, onto);
  }
  return onto;
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& onto) {
  if (onto.sizes() != from.sizes()) onto.resize_(from.sizes());
  return copy_from(from, onto, false);
}

Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                     std::optional<at::ScalarType> type, std::optional<at::Layout>,
                     std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  const at::ScalarType chosen = type.value_or(at::kFloat);
  return at::detail::empty_strided_generic(
      size, stride, &memory(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), chosen);
}

Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
             std::optional<at::Device> device, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(size, &memory(),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   type.value_or(at::kFloat), format);
}

const Tensor& resize(const Tensor& self, c10::SymIntArrayRef size,
                     std::optional<at::MemoryFormat>) {
  const std::vector<std::int64_t> sizes = C10_AS_INTARRAYREF_SLOW(size).vec();
  const std::int64_t numel = c10::multiply_integers(sizes);
  const std::size_t bytes = static_cast<std::size_t>(numel) * self.element_size();
  c10::StorageImpl* const storage = self.storage().unsafeGetStorageImpl();
  if (storage->nbytes() < bytes) {
    const c10::DeviceGuard guard(self.device());
    storage->set_data_ptr_noswap(memory().allocate(bytes));
    storage->set_nbytes(bytes);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return self;
}

// Allows modules to move their parameters to this device.
bool may_take_data(const Tensor&, const Tensor&) { return true; }

at::Scalar local_scalar_dense(const Tensor& self) {
  return at::native::_local_scalar_dense_cpu(on_host(self));
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const bool outer = std::exchange(is_in_operator, true);
  try {
    at::native::cpu_fallback(op, stack);
  } catch (...) {
    is_in_operator = outer;
    throw;
  }
  is_in_operator = outer;
}

// Reports the misuses of the device when the process ends.
struct Misuses {
  Misuses() = default;
  Misuses(const Misuses&) = delete;
  Misuses& operator=(const Misuses&) = delete;
  ~Misuses() {
    for (const std::string& misuse : fake_gpu::misuses()) {
      std::fprintf(stderr, "fake device misused: %s\n", misuse.c_str());
    }
  }
};
const Misuses kMisuses;

[[maybe_unused]] const bool kNamed = [] {
  c10::register_privateuse1_backend("fake");
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  c10::SetAllocator(kType, &memory());
  return true;
}();

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("resize_", resize);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_has_compatible_shallow_copy_type", may_take_data);
  m.impl("_local_scalar_dense", local_scalar_dense);
}

}  // namespace
