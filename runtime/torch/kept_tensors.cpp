#include "runtime/torch/kept_tensors.h"

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using torch::Tensor;

using Tensors = std::vector<std::shared_ptr<SavedTensor>>;

constexpr std::size_t kAlignment = 64;  // bytes, for each storage in the arena

std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

Status failed(std::string what) { return {StatusCode::failed, std::move(what)}; }

c10::StorageImpl* storage_of(const Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl()
                                                  : nullptr;
}

std::unordered_set<const c10::StorageImpl*> storages_of(const std::vector<Tensor>& tensors) {
  std::unordered_set<const c10::StorageImpl*> storages;
  for (const Tensor& tensor : tensors) storages.insert(storage_of(tensor));
  return storages;
}

// The given tensors that share a storage, and the tensor objects that hold this storage.
struct Given {
  std::unordered_set<const c10::TensorImpl*> holders;
  std::vector<Tensor> tensors;
  std::size_t messages = 0;  // the most messages that may hold the storage
};

std::unordered_map<const c10::StorageImpl*, Given> by_storage_of(const std::vector<Tensor>& given) {
  std::unordered_map<const c10::StorageImpl*, Given> all;
  for (const Tensor& tensor : given) {
    const c10::StorageImpl* const storage = storage_of(tensor);
    if (storage == nullptr) continue;
    Given& of_storage = all[storage];
    of_storage.tensors.push_back(tensor);
    of_storage.holders.insert(tensor.unsafeGetTensorImpl());
    of_storage.messages += tensor.is_contiguous() ? 1 : 0;
    // If the base of a view was computed, the graph keeps that base, which holds the same storage.
    if (tensor.is_view() && tensor._base().grad_fn() != nullptr) {
      of_storage.holders.insert(tensor._base().unsafeGetTensorImpl());
    }
  }
  return all;
}

// The distance in bytes from the first byte of these tensors in their storage to the last one.
class Reach {
 public:
  void add(const Tensor& tensor) {
    if (tensor.numel() == 0) return;
    std::int64_t last = tensor.storage_offset();
    for (std::int64_t i = 0; i < tensor.dim(); ++i) {
      last += (tensor.size(i) - 1) * tensor.stride(i);
    }
    const auto size = static_cast<std::size_t>(tensor.element_size());
    begin_ = std::min(begin_, static_cast<std::size_t>(tensor.storage_offset()) * size);
    end_ = std::max(end_, static_cast<std::size_t>(last + 1) * size);
  }
  [[nodiscard]] std::size_t bytes() const { return end_ > begin_ ? end_ - begin_ : 0; }

 private:
  std::size_t begin_ = std::numeric_limits<std::size_t>::max();
  std::size_t end_ = 0;
};

// Whether the storage is larger than these tensors, and has holders other than these tensors, the
// given tensors and their messages. This is true if a given batch is a piece of a data set.
bool is_of_something_larger(const Tensors& tensors, const Given& given, bool is_sent) {
  const c10::Storage& storage = tensors.front()->tensor.storage();
  const std::size_t known = tensors.size() + given.holders.size() + (is_sent ? given.messages : 0);
  if (storage.use_count() <= known) return false;
  Reach reach;
  for (const auto& one : tensors) reach.add(one->tensor);
  for (const Tensor& one : given.tensors) reach.add(one);
  return reach.bytes() < storage.nbytes();
}

// The saved tensors that their graph still needs.
Tensors alive(const SavingRegion::Saved& saved) {
  Tensors tensors;
  for (const auto& one : saved) {
    if (auto tensor = one.lock()) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

bool is_alive(const SavingRegion::Saved& saved) {
  return std::any_of(saved.begin(), saved.end(), [](const auto& one) { return !one.expired(); });
}

c10::Storage empty_storage(c10::Device device) {
  return {c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, device), nullptr,
          /*resizable=*/false};
}

// Allocates memory of the device for the thread's current stream.
c10::Storage make_storage(std::size_t size, c10::Device device) {
  c10::Allocator* const allocator = c10::GetAllocator(device.type());
  return {c10::Storage::use_byte_size_t(), size, allocator->allocate(size), allocator,
          /*resizable=*/true};
}

void exchange_storage(const Tensors& tensors, const c10::Storage& storage) {
  for (const auto& one : tensors) {
    one->tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  }
}

}  // namespace

Tensor KeptTensors::add(const Tensor& tensor) {
  added_.push_back(std::make_shared<SavedTensor>(tensor));
  saved_.push_back(added_.back());
  return added_.back()->tensor;
}

Status KeptTensors::settle(c10::Device device, const std::vector<Tensor>& given, bool is_sent,
                           const std::vector<Tensor>& parameters) {
  device_ = device;
  std::unordered_map<c10::StorageImpl*, Tensors> by_storage;
  std::vector<c10::StorageImpl*> order;
  for (auto& one : alive(std::exchange(saved_, {}))) {
    c10::StorageImpl* const storage = storage_of(one->tensor);
    if (storage == nullptr) {
      if (!one->original->expired()) continue;  // others still need it
      return failed("its forward keeps a tensor " + one->tensor.toString() +
                    ", which has no storage of its own and cannot be offloaded");
    }
    Tensors& tensors = by_storage[storage];
    if (tensors.empty()) order.push_back(storage);
    tensors.push_back(std::move(one));
  }
  const auto of_others = by_storage_of(given);
  const auto staying = storages_of(parameters);
  for (c10::StorageImpl* const storage : order) {
    const Tensors& tensors = by_storage[storage];
    const bool is_ours = tensors.front()->tensor.storage().use_count() == tensors.size();
    if (staying.contains(storage) || storage->nbytes() == 0) continue;
    if (storage->device() != device) continue;
    if (!is_ours) {
      const auto given_of_it = of_others.find(storage);
      if (given_of_it == of_others.end()) continue;
      if (is_of_something_larger(tensors, given_of_it->second, is_sent)) continue;
    }
    groups_.push_back({.size = storage->nbytes(), .tensors = {tensors.begin(), tensors.end()}});
    bytes_ += storage->nbytes();
  }
  return {};
}

Status KeptTensors::offload(network::BufferPool& arena, const Copy& copy) {
  if (state_ != State::here) return failed("what its forward kept is offloaded already");
  std::size_t size = 0;
  for (const Group& group : groups_) size += aligned(group.size);
  away_ = arena.take(-1, size);
  if (away_.data == nullptr) {
    return failed("there is no memory for " + std::to_string(size) + " bytes that are offloaded");
  }
  std::byte* to = away_.data;
  for (Group& group : groups_) {
    const Tensors tensors = alive(group.tensors);
    for (const auto& one : tensors) {
      if (one->was_written_to()) {
        return failed(
            "a tensor was written to in place after the forward had saved it for the "
            "backward");
      }
    }
    if (!tensors.empty()) {
      group.leaving = tensors.front()->tensor.storage();
      if (Status s = copy(to, group.leaving.data(), group.size); !s.ok()) return s;
      exchange_storage(tensors, empty_storage(device_));
      for (const auto& one : tensors) one->is_away = true;
    }
    to += aligned(group.size);
  }
  away_bytes_ = bytes_;
  state_ = State::leaving;
  return {};
}

void KeptTensors::offloaded() {
  for (Group& group : groups_) {
    group.leaving = {};
    group.back = {};
    group.is_back_in_use = false;
  }
  state_ = State::away;
}

Status KeptTensors::reload(const Copy& copy) {
  if (state_ != State::away) return failed("nothing that its forward kept is offloaded");
  const std::byte* from = away_.data;
  for (Group& group : groups_) {
    const Tensors tensors = alive(group.tensors);
    if (!tensors.empty()) {
      group.back = make_storage(group.size, device_);
      group.is_back_in_use = true;
      if (Status s = copy(group.back.mutable_data(), from, group.size); !s.ok()) return s;
      exchange_storage(tensors, group.back);
    }
    from += aligned(group.size);
  }
  state_ = State::coming;
  return {};
}

void KeptTensors::reloaded() {
  for (const Group& group : groups_) {
    for (const auto& one : alive(group.tensors)) one->is_away = false;
  }
  away_ = {};
  away_bytes_ = 0;
  state_ = State::here;
}

void KeptTensors::used() {
  for (Group& group : groups_) {
    if (!group.back || is_alive(group.tensors)) continue;
    group.is_back_in_use = false;
    // If anything else holds the storage, a later task (such as the weight half) still needs it.
    if (group.back.use_count() == 1) group.back = {};
  }
}

std::size_t KeptTensors::bytes_here() const {
  if (state_ == State::away) return 0;
  std::size_t bytes = 0;
  for (const Group& group : groups_) {
    if (group.is_back_in_use || is_alive(group.tensors)) bytes += group.size;
  }
  return bytes;
}

bool KeptTensors::is_let_go() const {
  return std::none_of(groups_.begin(), groups_.end(),
                      [](const Group& group) { return static_cast<bool>(group.back); });
}

}  // namespace ripeline::runtime
