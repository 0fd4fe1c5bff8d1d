// Carried: the kinds of payloads that the tasks of LibTorch stages send between stages.
#pragma once

#include <cstdint>

#include "core/facts.h"

namespace ripeline::runtime::training {

enum class Carried : std::uint8_t { nothing, activation, gradient, tied_gradients };

inline bool computes_gradients(core::OpKind kind) {
  return kind == core::OpKind::backward || kind == core::OpKind::backward_input;
}

// The payload of an edge between stages. A plain op passes on the payload that it gets.
inline Carried carried(core::OpKind producer, core::OpKind consumer) {
  using core::OpKind;
  const auto is = [&](const auto& fits) {
    return (fits(producer) || producer == OpKind::plain) &&
           (fits(consumer) || consumer == OpKind::plain);
  };
  if (is([](OpKind kind) { return kind == OpKind::forward; })) return Carried::activation;
  if (is(computes_gradients)) return Carried::gradient;
  // A `reload` keeps the gradient for the backward, which comes later.
  if (computes_gradients(producer) && consumer == OpKind::reload) return Carried::gradient;
  if (producer == OpKind::reduce && consumer == OpKind::user) return Carried::tied_gradients;
  return Carried::nothing;
}

}  // namespace ripeline::runtime::training
