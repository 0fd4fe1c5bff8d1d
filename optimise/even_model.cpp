#include "optimise/even_model.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace ripeline::optimise {
namespace {

using spec::Rational;

// A decimal where it is one, else a fraction.
std::string text_of(Rational value) {
  std::int64_t rest = value.denominator;
  std::int64_t power = 1;
  for (const std::int64_t prime : {2, 5}) {
    std::int64_t times = 1;
    while (rest % prime == 0) rest /= prime, times *= 10;
    power = std::max(power, times);
  }
  if (rest != 1) return fmt::format("{} / {}", value.numerator, value.denominator);
  std::string text = std::to_string(value.numerator / value.denominator);
  std::int64_t part = value.numerator % value.denominator;
  if (part != 0) text += '.';
  for (; part != 0; part %= value.denominator) {
    part *= 10;
    text += static_cast<char>('0' + part / value.denominator);
  }
  return text;
}

std::string place_of(const EvenModel& model) {
  switch (model.placement) {
    case EvenModel::Placement::chain:
      return "s";
    case EvenModel::Placement::loop:
      return fmt::format("s % {}", model.ranks);
    case EvenModel::Placement::v:
      return fmt::format("s < {0} ? s : {1} - s", model.ranks, 2 * model.ranks - 1);
  }
  return "";
}

std::int64_t room_of(const EvenModel& model) {
  return model.chunks * model.memory.numerator / model.memory.denominator;
}

}  // namespace

bool has_room(const EvenModel& model) {
  return room_of(model) >= model.bytes.value_or(EvenModel::Bytes{}).activation;
}

std::string program_text(const EvenModel& model) {
  const std::int64_t chunks = model.chunks;
  const EvenModel::Bytes bytes = model.bytes.value_or(EvenModel::Bytes{});
  // Nothing may acquire more than there is in all.
  const std::int64_t capacity = std::max(room_of(model), bytes.activation);
  const auto part = [&](Rational cost) {
    const std::int64_t common = std::gcd(cost.numerator, chunks);
    return text_of({cost.numerator / common, cost.denominator * (chunks / common)});
  };
  const auto amount = [](const char* verb, std::int64_t n) {
    if (n == 0) return std::string();
    return fmt::format(" {} activation{};", verb, n == 1 ? "" : fmt::format(" {}", n));
  };
  std::string text = fmt::format("pipeline {} {{\n", kEvenModel);
  text += fmt::format("microbatches {}; stages {}; place s on {};\n", model.microbatches,
                      chunks * model.ranks, place_of(model));
  text += fmt::format("op F forward {{ cost {}; needs F at prev;{} }}\n", part(model.forward),
                      amount("acquires", bytes.activation));
  text += fmt::format("op I backward input {{ cost {}; needs F at here, I at next;{} }}\n",
                      part(model.input), amount("releases", bytes.activation - bytes.after_input));
  text += fmt::format("op W backward weight {{ cost {}; needs I at here;{} }}\n",
                      part(model.weight), amount("releases", bytes.after_input));
  return text +
         fmt::format("resource activation per rank {{ capacity {}; }}\ndispatch ready;\n}}\n",
                     capacity);
}

}  // namespace ripeline::optimise
