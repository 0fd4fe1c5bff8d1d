#include "configuration.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "data.h"
#include "report.h"

namespace gpt {
namespace {

template <class Value>
std::string text_of(const Value& value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

// The size and hash of the text at `path`, or why it cannot be read. Ranks compare this text.
std::string digest_of(const std::string& path) {
  std::vector<std::uint8_t> text;
  if (const auto status = read_text(path, 0, text); !status.ok()) return status.message();
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const std::uint8_t byte : text) hash = (hash ^ byte) * 0x100000001b3U;
  return std::to_string(text.size()) + " bytes with hash " + hash_text(hash);
}

}  // namespace

ripeline::runtime::Configuration configuration_of(const Options& options) {
  std::string programs;  // names with hashes; start-up also compares the first hash
  for (const Schedule* schedule : options.schedules) {
    programs += (programs.empty() ? "" : ",") + std::string(schedule->name) + "/" +
                hash_text(schedule->facts.hash);
  }
  return {{"schedule", programs},
          {"steps", text_of(options.steps)},
          {"microbatches", text_of(options.microbatches)},
          {"batch", text_of(options.batch)},
          {"width", text_of(options.model.width)},
          {"layers", text_of(options.model.layers)},
          {"dropout", text_of(options.model.dropout)},
          {"heads", text_of(options.model.heads)},
          {"context", text_of(options.model.context)},
          {"lr", text_of(options.rate)},
          {"clip", text_of(options.clip)},
          {"accumulate", text_of(options.accumulate)},
          {"device", options.device.substr(0, options.device.find(':'))},
          {"precision", options.precision},
          {"loss-scale", options.loss_scale.empty() ? "none" : options.loss_scale},
          {"seed", text_of(options.model.seed)},
          {"text", digest_of(options.text)},
          {"check", text_of(options.check)},
          {"delay", options.instruments.delay.empty() ? "none" : options.instruments.delay},
          {"delay-seed", text_of(options.instruments.delay_seed)},
          {"trace", options.instruments.trace.empty() ? "none" : "a file"}};
}

}  // namespace gpt
