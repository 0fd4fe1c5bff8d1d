// The binding of a Worker (python/worker.h): PyTorch's tensors as payloads, and back.
//
// A tensor is sent from where it is, and a received one stays where its bytes have arrived; nothing
// is copied here. The format is in docs/formats.md.
#include "python/worker_module.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "python/bound.h"
#include "python/worker.h"
#include "runtime/network/store.h"
#include "runtime/value_head.h"

namespace ripeline::python {
namespace {

using nb::literals::operator""_a;
using runtime::TensorType;
using runtime::ValueHead;
using runtime::ValueKind;
using namespace std::chrono_literals;

// How long a wait goes on before Python may handle a signal.
constexpr auto kSlice = 50ms;

// A type of tensors: its name in `torch`, and in DLPack.
struct Type {
  TensorType type;
  const char* name;
  nb::dlpack::dtype code;
};
constexpr std::array<Type, 10> kTypes = {{
    {TensorType::float32, "float32", {2, 32, 1}},
    {TensorType::float64, "float64", {2, 64, 1}},
    {TensorType::float16, "float16", {2, 16, 1}},
    {TensorType::bfloat16, "bfloat16", {4, 16, 1}},
    {TensorType::int64, "int64", {0, 64, 1}},
    {TensorType::int32, "int32", {0, 32, 1}},
    {TensorType::int16, "int16", {0, 16, 1}},
    {TensorType::int8, "int8", {0, 8, 1}},
    {TensorType::uint8, "uint8", {1, 8, 1}},
    {TensorType::boolean, "bool", {6, 8, 1}},
}};

std::string task_name(const runtime::TaskInfo& task) {
  return std::to_string(task.stage) + std::string(task.op) + std::to_string(task.microbatch);
}

// For each lane its op, kind, stage, and the stages to which its tasks give values.
using Lanes =
    nb::typed<nb::list, nb::typed<nb::tuple, std::string, std::string, int, std::vector<int>>>;

// Tensors that have been handed over, until their bytes have left or nobody reads them any more.
//
// The last owner of a payload may end in a thread without Python's lock, so it only puts the tensor
// on a list, which is emptied where the lock is held. Then it is seen whether the tensor was
// changed in the meantime, which would have changed what the receiver got.
class Sent {
 public:
  std::shared_ptr<void> keep(nb::object tensor, const std::string& task) {
    struct Kept {
      PyObject* tensor;
      std::int64_t version;
      std::string task;
    };
    auto* const kept = new Kept{tensor.ptr(), version_of(tensor), task};
    tensor.release();
    return {kept, [shared = shared_](void* was) {
              auto* const ended = static_cast<Kept*>(was);
              const std::lock_guard lock(shared->mutex);
              shared->ended.push_back({ended->tensor, ended->version, std::move(ended->task)});
              delete ended;
            }};
  }

  // Called with Python's lock. Throws if one of the tensors was changed.
  void let_go() {
    std::vector<Ended> ended;
    {
      const std::lock_guard lock(shared_->mutex);
      ended.swap(shared_->ended);
    }
    std::string changed;
    for (const Ended& one : ended) {
      const nb::object tensor = nb::steal(one.tensor);
      if (version_of(tensor) != one.version) changed = one.task;
    }
    if (changed.empty()) return;
    throw std::runtime_error(changed + " gave a tensor that was changed in place afterwards, " +
                             "perhaps before it was sent: give a clone(), or change a clone");
  }

 private:
  struct Ended {
    PyObject* tensor;
    std::int64_t version;
    std::string task;
  };
  struct Shared {
    std::mutex mutex;
    std::vector<Ended> ended;
  };

  // -1 for a tensor that has none, which is one that was made under torch.inference_mode().
  static std::int64_t version_of(const nb::object& tensor) {
    try {
      return nb::cast<std::int64_t>(tensor.attr("_version"));
    } catch (const nb::python_error&) {
      return -1;
    }
  }

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// The store by which the processes of a group have found each other, as a Store. Nothing tells it
// that a process has ended, so a claim is held for ever. All calls come from the thread that made
// it, without Python's lock.
class GroupStore final : public runtime::network::Store {
 public:
  GroupStore(nb::object store, std::string prefix)
      : store_(std::move(store)), prefix_(std::move(prefix)) {}
  ~GroupStore() override {
    const nb::gil_scoped_acquire locked;
    store_ = nb::object();
  }
  GroupStore(const GroupStore&) = delete;
  GroupStore& operator=(const GroupStore&) = delete;

  [[nodiscard]] std::string name() const override { return "the store of the process group"; }
  core::Status set(const std::string& key, const runtime::Blob& value) override {
    return guarded([&] { store_.attr("set")(prefix_ + key, bytes_of(value)); });
  }
  core::Status set_if_absent(const std::string& key, const runtime::Blob& value,
                             runtime::Blob& there) override {
    return guarded(
        [&] { there = blob_of(store_.attr("compare_set")(prefix_ + key, "", bytes_of(value))); });
  }
  core::Status get(const std::string& key, std::optional<runtime::Blob>& value) override {
    return guarded([&] {
      value.reset();
      if (has(key)) value = blob_of(store_.attr("get")(prefix_ + key));
    });
  }
  void remove(const std::string& key) override {
    (void)guarded([&] { store_.attr("delete_key")(prefix_ + key); });
  }
  core::Status claim(const std::string& key, const runtime::Blob& value,
                     runtime::Blob& there) override {
    if (core::Status s = set_if_absent(key, value, there); !s.ok()) return s;
    if (there == value) {
      there.clear();
      return {};
    }
    return {core::StatusCode::refused, "another process has claimed " + key};
  }
  void release(const std::string& /*key*/) override {}
  [[nodiscard]] runtime::network::Claim claim_of(const std::string& key) override {
    using runtime::network::Claim;
    bool is_there = false;
    (void)guarded([&] { is_there = has(key); });
    return is_there ? Claim::held : Claim::none;
  }
  [[nodiscard]] int watch() override { return -1; }

  // The exception that a call has raised, such as KeyboardInterrupt; null if none has.
  [[nodiscard]] const std::exception_ptr& raised() const { return raised_; }

 private:
  template <class Work>
  core::Status guarded(const Work& work) {
    const nb::gil_scoped_acquire locked;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      work();
      return {};
    } catch (const nb::python_error& error) {
      raised_ = std::current_exception();
      return {core::StatusCode::failed, error.what()};
    }
  }
  [[nodiscard]] bool has(const std::string& key) const {
    nb::list keys;
    keys.append(prefix_ + key);
    return nb::cast<bool>(store_.attr("check")(keys));
  }
  static nb::bytes bytes_of(const runtime::Blob& blob) {
    return nb::bytes(blob.data(), blob.size());
  }
  static runtime::Blob blob_of(const nb::object& value) {
    const auto bytes = nb::cast<nb::bytes>(value);
    const auto* const data = static_cast<const std::byte*>(bytes.data());
    return {data, data + bytes.size()};
  }

  nb::object store_;
  std::string prefix_;
  std::exception_ptr raised_;
};

class BoundWorker {
 public:
  BoundWorker(const std::vector<Verdict*>& programs, int rank, int ranks, const std::string& folder,
              nb::object store, const std::string& prefix, const std::string& address,
              const std::string& towards, bool traces, double connect_seconds,
              double silence_seconds, double stall_seconds)
      : worker_(joined(programs, std::make_shared<GroupStore>(std::move(store), prefix),
                       {.rank = rank,
                        .ranks = ranks,
                        .folder = folder,
                        .store = nullptr,
                        .address = address,
                        .towards = towards,
                        .traces = traces,
                        .connect_seconds = connect_seconds,
                        .silence_seconds = silence_seconds,
                        .stall_seconds = stall_seconds})) {
    const nb::module_ torch = nb::module_::import_("torch");
    for (const Type& type : kTypes) dtypes_.push_back(torch.attr(type.name));
  }

  [[nodiscard]] Lanes lanes(std::size_t program) const {
    Lanes lanes;
    for (const Lane& lane : worker_->lanes(program)) {
      lanes.append(nb::make_tuple(lane.op, lane.kind, lane.stage, lane.outputs));
    }
    return lanes;
  }

  void begin(std::size_t program, int microbatches) {
    const WithoutLock unlocked;
    call_ = {};
    runs_ = false;
    worker_->begin(program, microbatches);
  }

  // Ends the task that the last call gave, with a list of values for each of its outputs; a value
  // is None, or a tensor and whether it wants a gradient. Returns the next task: its lane,
  // microbatch and inputs, each with its stage and values; or None when the step is over.
  nb::object next(nb::handle outputs) {
    if (runs_) give(outputs);
    sent_.let_go();
    runtime::Pump& pump = worker_->pump();
    for (;;) {
      runtime::Pump::Next next{};
      {
        const WithoutLock unlocked;
        if (runs_) pump.end(std::move(call_), {});
        runs_ = false;
        next = pump.next(call_, kSlice);
        if (next == runtime::Pump::Next::task) worker_->before_task(call_.task);
      }
      if (next == runtime::Pump::Next::task) break;
      if (next == runtime::Pump::Next::over) {
        sent_.let_go();
        if (!pump.outcome().ok()) throw RunFailure(pump.outcome());
        return nb::none();
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    runs_ = true;
    nb::list inputs;
    for (runtime::Input& input : call_.inputs) {
      if (!carries(input.kind, call_.task.kind)) continue;
      inputs.append(nb::make_tuple(input.stage, values_of(input)));
    }
    return nb::make_tuple(call_.task.task.lane, call_.task.microbatch, inputs);
  }

  std::string fail(const std::string& why) {
    const WithoutLock unlocked;
    runs_ = false;
    return worker_->fail(why);
  }

  // Ends the connections, once all ranks do, or after some seconds in any case.
  void close(double seconds) {
    {
      const WithoutLock unlocked;
      call_ = {};
      if (worker_ && seconds > 0) worker_->leave(seconds);
      worker_.reset();
    }
    try {
      sent_.let_go();
    } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): it is over
    }
  }

  void close_in_child() {
    if (!worker_) return;
    worker_->close_in_child();
    (void)worker_.release();
    nb::set_leak_warnings(false);
  }

 private:
  static std::unique_ptr<Worker> joined(const std::vector<Verdict*>& programs,
                                        const std::shared_ptr<GroupStore>& store, Joining joining) {
    std::vector<Verdict> verdicts;
    for (const Verdict* one : programs) verdicts.push_back(*one);
    joining.store = store;
    const WithoutLock unlocked;
    try {
      return std::make_unique<Worker>(verdicts, joining);
    } catch (const RunFailure&) {
      if (store->raised()) std::rethrow_exception(store->raised());
      throw;
    }
  }

  void give(nb::handle outputs) {
    const nb::sequence given = nb::cast<nb::sequence>(outputs);
    std::size_t at = 0;
    for (runtime::Output& output : call_.outputs) {
      if (carries(call_.task.kind, output.kind)) output.payload = payload_of(given[at++]);
    }
  }

  [[nodiscard]] const Type& type_of(nb::handle dtype) const {
    for (std::size_t i = 0; i < dtypes_.size(); ++i) {
      if (dtypes_[i].is(dtype)) return kTypes[i];
    }
    throw nb::type_error((task_name(call_.task) + " gives a tensor of " +
                          nb::cast<std::string>(nb::str(dtype)) + ", which cannot be sent")
                             .c_str());
  }

  // The head of the payload: how many values, for each of them whether it wants a gradient, and the
  // head of a tuple of the values.
  runtime::Payload payload_of(const nb::object& values) {
    runtime::Payload payload;
    ValueHead head{.kind = ValueKind::tuple};
    std::vector<std::byte> wants;
    for (const nb::handle value : values) {
      ValueHead& one = head.values.emplace_back();
      const nb::handle tensor = value.is_none() ? value : nb::handle(value[0]);
      wants.push_back(static_cast<std::byte>(!tensor.is_none() && nb::cast<bool>(value[1])));
      if (!tensor.is_none()) add(tensor, one, payload);
    }
    payload.head.resize(sizeof(std::uint32_t));
    const auto count = static_cast<std::uint32_t>(wants.size());
    std::memcpy(payload.head.data(), &count, sizeof(count));
    payload.head.insert(payload.head.end(), wants.begin(), wants.end());
    const std::vector<std::byte> rest = runtime::encode_head(head);
    payload.head.insert(payload.head.end(), rest.begin(), rest.end());
    return payload;
  }

  void add(nb::handle tensor, ValueHead& head, runtime::Payload& payload) {
    head.kind = ValueKind::tensor;
    head.type = type_of(tensor.attr("dtype")).type;
    for (const nb::handle extent : tensor.attr("shape")) {
      head.shape.push_back(nb::cast<std::int64_t>(extent));
    }
    payload.parts.push_back(
        {.data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")())),
         .size = nb::cast<std::size_t>(tensor.attr("nbytes")),
         .owner = sent_.keep(nb::borrow(tensor), task_name(call_.task))});
  }

  // The values of an input: for each, None, or a tensor and whether it wants a gradient.
  static nb::list values_of(runtime::Input& input) {
    runtime::Payload& payload = input.payload;
    std::uint32_t count = 0;
    if (payload.head.size() >= sizeof(count)) {
      std::memcpy(&count, payload.head.data(), sizeof(count));
    }
    const std::size_t before = sizeof(count) + count;
    if (payload.head.size() < before) refuse(input);
    const std::vector<std::byte> head(payload.head.begin(),
                                      payload.head.begin() + static_cast<std::ptrdiff_t>(before));
    payload.head.erase(payload.head.begin(),
                       payload.head.begin() + static_cast<std::ptrdiff_t>(before));
    ValueHead values;
    if (const core::Status s = runtime::decode_head(payload, values); !s.ok()) refuse(input);
    if (values.kind != ValueKind::tuple || values.values.size() != count) refuse(input);
    nb::list found;
    auto part = payload.parts.begin();
    for (std::size_t i = 0; i < count; ++i) {
      const ValueHead& one = values.values[i];
      if (one.kind == ValueKind::none) {
        found.append(nb::make_tuple(nb::none(), false));
      } else if (one.kind == ValueKind::tensor) {
        const bool wants = head[sizeof(count) + i] != std::byte{0};
        found.append(nb::make_tuple(tensor_of(one, *part++), wants));
      } else {
        refuse(input);
      }
    }
    return found;
  }

  [[noreturn]] static void refuse(const runtime::Input& input) {
    throw std::runtime_error("stage " + std::to_string(input.stage) +
                             " sent bytes that are no tensors");
  }

  static nb::object tensor_of(const ValueHead& head, runtime::Bytes& part) {
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const Type& one) { return one.type == head.type; });
    std::vector<std::size_t> shape;
    for (const std::int64_t extent : head.shape) shape.push_back(static_cast<std::size_t>(extent));
    auto* const owner = new std::shared_ptr<void>(std::move(part.owner));
    const nb::capsule keeps(
        owner, [](void* was) noexcept { delete static_cast<std::shared_ptr<void>*>(was); });
    return nb::cast(nb::ndarray<nb::pytorch>(part.data, shape.size(), shape.data(), keeps, nullptr,
                                             type->code));
  }

  std::vector<nb::object> dtypes_;  // in the order of kTypes
  Sent sent_;
  std::unique_ptr<Worker> worker_;
  runtime::Call call_;
  bool runs_ = false;  // whether Python has the task of `call_`
};

}  // namespace

void bind_worker(nb::module_& m) {
  nb::exception<RunFailure>(m, "RunFailed", PyExc_RuntimeError);
  nb::class_<BoundWorker>(m, "Worker")
      .def(nb::init<const std::vector<Verdict*>&, int, int, const std::string&, nb::object,
                    const std::string&, const std::string&, const std::string&, bool, double,
                    double, double>(),
           "programs"_a, "rank"_a, "ranks"_a, "folder"_a, "store"_a, "prefix"_a, "address"_a,
           "towards"_a, "traces"_a, "connect_seconds"_a, "silence_seconds"_a, "stall_seconds"_a)
      .def_static("check_environment", &Worker::check_environment, "trains"_a)
      .def("lanes", &BoundWorker::lanes, "program"_a)
      .def("begin", &BoundWorker::begin, "program"_a, "microbatches"_a)
      .def("next", &BoundWorker::next, "outputs"_a.none())
      .def("fail", &BoundWorker::fail, "why"_a)
      .def("close", &BoundWorker::close, "seconds"_a)
      .def("close_in_child", &BoundWorker::close_in_child);
}

}  // namespace ripeline::python
