#include "runtime/torch/tied_weights.h"

#include <ATen/core/Dict.h>
#include <ATen/core/grad_mode.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/torch/torch_calls.h"
#include "runtime/torch/value_codec.h"
#include "runtime/training/carried.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using torch::IValue;
using torch::Tensor;

// One stage's copy of a tied parameter, as it is sent.
struct Copy {
  int stage = 0;
  Tensor gradient;  // undefined if the copy has none
  Tensor value;     // undefined if it is not sent
};
using Copies = std::map<std::string, std::vector<Copy>>;  // by name, in stage order

IValue ivalue_of(const Tensor& tensor) { return tensor.defined() ? IValue(tensor) : IValue(); }
Tensor tensor_of(const IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }

// The payload is a dictionary from the name of a parameter to a tuple: gradient, value.
Status take_copies(Call& call, Copies& copies) {
  for (Input& input : call.inputs) {
    if (training::carried(input.kind, call.task.kind) != training::Carried::tied_gradients)
      continue;
    IValue value;
    if (Status s = decode_value(std::move(input.payload), value); !s.ok()) {
      return failed(call.task, "a tied gradient is " + s.message());
    }
    if (!value.isGenericDict()) return failed(call.task, "tied gradients are no dictionary");
    for (const auto& entry : value.toGenericDict()) {
      const IValue& pair = entry.value();
      if (!pair.isTuple() || pair.toTupleRef().elements().size() != 2) {
        return failed(call.task, "a tied gradient is no pair");
      }
      const auto& parts = pair.toTupleRef().elements();
      copies[entry.key().toStringRef()].push_back(
          {.stage = input.stage, .gradient = tensor_of(parts[0]), .value = tensor_of(parts[1])});
    }
  }
  return {};
}

std::string named(const NamedTensor& parameter) {
  return "its parameter '" + parameter.name + "', tied as '" + parameter.tied + "', ";
}

// Why another stage's copy does not fit; empty if the copy fits.
std::string difference(const NamedTensor& mine, const Copy& theirs) {
  const std::string of = "that of stage " + std::to_string(theirs.stage);
  for (const Tensor& tensor : {theirs.gradient, theirs.value}) {
    if (!tensor.defined()) continue;
    if (tensor.sizes() != mine.tensor.sizes()) {
      return "has the shape " + shape_of(mine.tensor) + ", and " + of + " " + shape_of(tensor);
    }
    if (tensor.scalar_type() != mine.tensor.scalar_type()) {
      return "is of another type than " + of;
    }
  }
  if (!theirs.value.defined() || torch::equal(mine.tensor, theirs.value)) return "";
  return "does not start with the values of " + of;
}

// The sum is a new tensor, since the tensors that were sent must not be written to.
Tensor sum_of(const std::vector<Copy>& copies) {
  Tensor sum;
  for (const Copy& copy : copies) {
    if (!copy.gradient.defined()) continue;
    sum = sum.defined() ? sum + copy.gradient : copy.gradient.clone();
  }
  return sum;
}

}  // namespace

Status give_tied_gradients(Call& call, const TorchStage& stage, bool with_values) {
  const torch::NoGradGuard no_grad;
  c10::impl::GenericDict copies(c10::StringType::get(), c10::AnyType::get());
  for (const NamedTensor& parameter : stage.parameters) {
    if (parameter.tied.empty()) continue;
    // The value is cloned, since the update will write to the parameter.
    const Tensor value = with_values ? parameter.tensor.detach().clone() : Tensor();
    copies.insert(parameter.tied, c10::ivalue::Tuple::create(
                                      {ivalue_of(parameter.tensor.grad()), ivalue_of(value)}));
  }
  for (Output& output : call.outputs) {
    if (training::carried(call.task.kind, output.kind) != training::Carried::tied_gradients)
      continue;
    if (Status s = encode_value(copies, output.payload); !s.ok()) {
      return failed(call.task, s.message());
    }
  }
  return {};
}

Status add_tied_gradients(Call& call, TorchStage& stage, std::map<std::string, int>& first_stages) {
  const torch::NoGradGuard no_grad;
  Copies copies;
  if (Status s = take_copies(call, copies); !s.ok()) return s;
  for (NamedTensor& parameter : stage.parameters) {
    if (parameter.tied.empty()) continue;
    std::vector<Copy>& all = copies[parameter.tied];
    if (all.empty()) {
      return failed(call.task, named(parameter) + "is at no stage whose `reduce` it needs");
    }
    for (const Copy& copy : all) {
      const std::string wrong = difference(parameter, copy);
      if (!wrong.empty()) return failed(call.task, named(parameter) + wrong);
    }
    all.push_back({.stage = call.task.stage, .gradient = parameter.tensor.grad(), .value = {}});
    std::sort(all.begin(), all.end(),
              [](const Copy& a, const Copy& b) { return a.stage < b.stage; });
    first_stages[parameter.tied] = all.front().stage;
    parameter.tensor.mutable_grad() = sum_of(all);
  }
  return {};
}

}  // namespace ripeline::runtime
