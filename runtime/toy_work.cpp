#include "runtime/toy_work.h"

#include <cmath>
#include <cstring>
#include <string>

#include "core/draw.h"

namespace ripeline::runtime {
namespace {

using core::OpKind;
using core::Status;
using core::StatusCode;
using Vector = std::vector<double>;

// A number in [-1, 1) that depends on the arguments alone.
double value(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<double>(core::draw_bits(seed, {a, b, c})) * 0x1.0p-52 - 1.0;
}

enum Stream : std::uint64_t { kWeights = 1, kInputs, kTargets };

Vector draw(const ToyModel& model, Stream stream, std::int64_t a, std::int64_t b) {
  Vector v(static_cast<std::size_t>(model.width));
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] =
        value(model.seed + stream, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), i);
  }
  return v;
}
Vector weights(const ToyModel& model, int stage) { return draw(model, kWeights, stage, 0); }

// A stage's forward. Pipeline and reference share this code, so that their bits are equal.
Vector forward(const Vector& w, const Vector& x) {
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 1.5 * std::tanh(w[i] * x[i]);
  return y;
}
double loss_of(const Vector& y, const Vector& target, int microbatches) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += (y[i] - target[i]) * (y[i] - target[i]);
  return sum / static_cast<double>(y.size()) / microbatches;
}
Vector loss_gradient(const Vector& y, const Vector& target, int microbatches) {
  Vector g(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    g[i] = 2 * (y[i] - target[i]) / static_cast<double>(y.size()) / microbatches;
  }
  return g;
}
// The gradient of tanh's argument, from the gradient of the output.
Vector inner_gradient(const Vector& w, const Vector& x, const Vector& g) {
  Vector d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::tanh(w[i] * x[i]);
    d[i] = g[i] * 1.5 * (1 - t * t);
  }
  return d;
}
Vector product(const Vector& a, const Vector& b) {
  Vector p(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) p[i] = a[i] * b[i];
  return p;
}
void add_to(Vector& sum, const Vector& v) {
  sum.resize(v.size(), 0.0);
  for (std::size_t i = 0; i < v.size(); ++i) sum[i] += v[i];
}

Payload bytes_of(const Vector& v) {
  Blob bytes(v.size() * sizeof(double));
  std::memcpy(bytes.data(), v.data(), bytes.size());
  return payload_of(std::move(bytes));
}

Status read(Call& call, int width, Vector& v) {
  if (call.inputs.size() != 1) {
    return {StatusCode::invalid, "the toy model is a chain: expected one input, got " +
                                     std::to_string(call.inputs.size())};
  }
  const Blob bytes = blob_of(std::move(call.inputs[0].payload));
  v.resize(static_cast<std::size_t>(width));
  if (bytes.size() != v.size() * sizeof(double)) {
    return {StatusCode::invalid, "stage " + std::to_string(call.task.stage) + " got " +
                                     std::to_string(bytes.size()) + " bytes, expected " +
                                     std::to_string(v.size() * sizeof(double))};
  }
  std::memcpy(v.data(), bytes.data(), bytes.size());
  return {};
}

}  // namespace

ToyResult reference_gradients(const ToyModel& model, std::int64_t step, int microbatches) {
  ToyResult result;
  result.gradients.resize(static_cast<std::size_t>(model.stages));
  for (int m = 0; m < microbatches; ++m) {
    std::vector<Vector> inputs;
    Vector x = draw(model, kInputs, step, m);
    for (int stage = 0; stage < model.stages; ++stage) {
      inputs.push_back(x);
      x = forward(weights(model, stage), x);
    }
    const Vector target = draw(model, kTargets, step, m);
    result.loss += loss_of(x, target, microbatches);
    Vector g = loss_gradient(x, target, microbatches);
    for (int stage = model.stages - 1; stage >= 0; --stage) {
      const auto s = static_cast<std::size_t>(stage);
      const Vector d = inner_gradient(weights(model, stage), inputs[s], g);
      add_to(result.gradients[s], product(d, inputs[s]));
      g = product(d, weights(model, stage));
    }
  }
  return result;
}

Status ToyWork::begin_step(std::int64_t step, int microbatches) {
  step_ = step;
  microbatches_ = microbatches;
  gradients_.clear();
  saved_.clear();
  deferred_.clear();
  loss_ = 0;
  return {};
}

Status ToyWork::run(Call& call) {
  switch (call.task.kind) {
    case OpKind::forward:
      return run_forward(call);
    case OpKind::backward:
    case OpKind::backward_input:
      if (Status s = run_backward_input(call); !s.ok()) return s;
      if (call.task.kind == OpKind::backward) run_backward_weight(call.task);
      return {};
    case OpKind::backward_weight:
      run_backward_weight(call.task);
      return {};
    default:
      if (!call.inputs.empty()) call.give(call.inputs[0].payload);
      return {};
  }
}

Status ToyWork::run_forward(Call& call) {
  const TaskInfo& task = call.task;
  Vector x;
  if (task.stage == 0) {
    x = draw(model_, kInputs, step_, task.microbatch);
  } else if (Status s = read(call, model_.width, x); !s.ok()) {
    return s;
  }
  const Vector y = forward(weights(model_, task.stage), x);
  if (task.stage == task.stages - 1) {
    loss_ += loss_of(y, draw(model_, kTargets, step_, task.microbatch), microbatches_);
  }
  saved_[{task.stage, task.microbatch}] = std::move(x);
  if (!call.outputs.empty()) call.give(bytes_of(y));
  return {};
}

Status ToyWork::run_backward_input(Call& call) {
  const TaskInfo& task = call.task;
  const auto saved = saved_.find({task.stage, task.microbatch});
  if (saved == saved_.end()) return {StatusCode::invalid, "a backward without its forward"};
  const Vector w = weights(model_, task.stage);
  Vector g;
  if (task.stage == task.stages - 1) {
    g = loss_gradient(forward(w, saved->second), draw(model_, kTargets, step_, task.microbatch),
                      microbatches_);
  } else if (Status s = read(call, model_.width, g); !s.ok()) {
    return s;
  }
  Vector d = inner_gradient(w, saved->second, g);
  if (!call.outputs.empty()) call.give(bytes_of(product(d, w)));
  deferred_[{task.stage, task.microbatch}] = std::move(d);
  return {};
}

void ToyWork::run_backward_weight(const TaskInfo& task) {
  const auto deferred = deferred_.extract({task.stage, task.microbatch});
  const auto saved = saved_.extract({task.stage, task.microbatch});
  if (deferred.empty() || saved.empty()) return;
  add_to(gradients_[task.stage], product(deferred.mapped(), saved.mapped()));
}

}  // namespace ripeline::runtime
