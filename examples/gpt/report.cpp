#include "report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "core/print.h"

namespace gpt {

using ripeline::core::ProgramFacts;
using ripeline::core::Status;
using ripeline::core::StatusCode;
using ripeline::runtime::Blob;

Status gather(ripeline::runtime::Run& run, const std::string& mine, std::vector<std::string>& all) {
  Blob bytes(mine.size());
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), mine.size());
  std::vector<Blob> blobs;
  if (Status status = run.gather("report", std::move(bytes), blobs); !status.ok()) return status;
  all.clear();
  for (const Blob& theirs : blobs) {
    std::string text(theirs.size(), '\0');
    std::transform(theirs.begin(), theirs.end(), text.begin(),
                   [](std::byte byte) { return static_cast<char>(byte); });
    all.push_back(std::move(text));
  }
  return {};
}

Status gather_peaks(ripeline::runtime::Run& run, const ProgramFacts& facts,
                    const ripeline::core::Ledger& ledger, std::vector<Peak>& peaks) {
  // Every rank sends a number for every pool, but only its own pools count. Members send the same.
  std::string mine;
  const int pools = static_cast<int>(facts.pools.size());
  for (int pool = 0; pool < pools; ++pool) mine += std::to_string(ledger.peak(pool)) + ' ';
  std::vector<std::string> all;
  if (Status status = gather(run, mine, all); !status.ok()) return status;
  peaks.clear();
  for (int pool = 0; pool < pools; ++pool) {
    const ripeline::core::PoolFacts& of = facts.pools[static_cast<std::size_t>(pool)];
    const std::string& theirs =
        all[static_cast<std::size_t>(run.layout().process({.rank = of.rank}))];
    std::size_t at = 0;
    for (int skip = 0; skip < pool && at != std::string::npos; ++skip) {
      at = theirs.find(' ', at);
      if (at != std::string::npos) ++at;
    }
    Peak peak{ripeline::core::pool_name(facts, pool), of.rank, of.bound, 0};
    if (at == std::string::npos ||
        std::from_chars(theirs.data() + at, theirs.data() + theirs.size(), peak.observed).ec !=
            std::errc()) {
      return {StatusCode::invalid, "rank " + std::to_string(of.rank) + " sent malformed peaks"};
    }
    peaks.push_back(std::move(peak));
  }
  return {};
}

std::string text_of(const std::vector<Peak>& peaks) {
  std::string proved;
  std::string observed;
  for (const Peak& peak : peaks) {
    proved += (peak.proved < 0 ? "-" : std::to_string(peak.proved)) + ' ';
    observed += std::to_string(peak.observed) + ' ';
  }
  return proved + "proved, " + observed + "observed";
}

std::vector<std::string> lines_of(const ProgramFacts& facts, const std::vector<Peak>& peaks) {
  std::vector<std::string> lines;
  std::vector<std::string_view> named;
  for (const ripeline::core::PoolFacts& first : facts.pools) {
    if (std::find(named.begin(), named.end(), first.resource) != named.end()) continue;
    std::vector<Peak> own;
    for (std::size_t pool = 0; pool < peaks.size(); ++pool) {
      if (facts.pools[pool].resource == first.resource) own.push_back(peaks[pool]);
    }
    lines.push_back((named.empty() ? "activations" : std::string(first.resource)) + " held, by " +
                    (first.stage < 0 ? "rank" : "stage") + ": " + text_of(own));
    named.push_back(first.resource);
  }
  return lines;
}

Status gather_offloads(ripeline::runtime::Run& run, const ripeline::runtime::TorchWork& work,
                       std::string& text) {
  const ripeline::runtime::OffloadReport own = work.offloaded();
  std::vector<std::string> all;
  const std::string mine = std::to_string(own.microbatch) + ' ' + std::to_string(own.here) + ' ' +
                           std::to_string(own.away);
  if (Status status = gather(run, mine, all); !status.ok()) return status;
  std::array<std::string, 3> columns;
  std::int64_t most = 0;
  for (const std::string& theirs : all) {
    std::istringstream in(theirs);
    for (std::string& column : columns) {
      std::int64_t bytes = 0;
      if (!(in >> bytes)) return {StatusCode::invalid, "a rank sent malformed offloaded bytes"};
      most = std::max(most, bytes);
      column += " " + std::to_string(bytes / 1024);
    }
  }
  text = most == 0 ? ""
                   : "offloaded, by rank, KiB: of a microbatch" + columns[0] +
                         "; at most on the device" + columns[1] + ", away" + columns[2];
  return {};
}

Status gather_deferrals(ripeline::runtime::Run& run, const ProgramFacts& facts,
                        const ripeline::runtime::TorchWork& work,
                        std::vector<StageDeferral>& stages) {
  std::ostringstream mine;
  for (const ripeline::runtime::DeferredTask& one : work.deferrals()) {
    mine << facts.lanes[static_cast<std::size_t>(one.task.lane)].stage << ' '
         << one.deferral.parameters << ' ' << one.deferral.deferred << ' ' << one.deferral.bytes
         << ' ';
  }
  std::vector<std::string> all;
  if (Status status = gather(run, mine.str(), all); !status.ok()) return status;
  stages.clear();
  for (const std::string& theirs : all) {
    std::istringstream in(theirs);
    std::size_t stage = 0;
    for (StageDeferral one; in >> stage >> one.parameters >> one.deferred >> one.bytes;) {
      if (stage >= static_cast<std::size_t>(facts.stages)) {
        return {StatusCode::invalid, "a rank sent malformed numbers of deferred gradients"};
      }
      stages.resize(static_cast<std::size_t>(facts.stages));
      one.bytes = std::max(one.bytes, stages[stage].bytes);
      stages[stage] = one;
    }
  }
  return {};
}

std::string text_of(const std::vector<StageDeferral>& stages) {
  std::string shares;
  std::string kept;
  for (const StageDeferral& stage : stages) {
    shares += " " + std::to_string(stage.deferred) + "/" + std::to_string(stage.parameters);
    kept += " " + std::to_string(stage.bytes / 1024);
  }
  return "weight gradients deferred, by stage:" + shares +
         "; kept for them a microbatch, KiB:" + kept;
}

std::string json_of(const std::vector<Peak>& peaks) {
  std::string text;
  for (const Peak& peak : peaks) {
    text += (text.empty() ? "" : ", ") + ("{\"pool\": " + json_of(peak.pool)) +
            ", \"rank\": " + std::to_string(peak.rank) +
            ", \"proved\": " + (peak.proved < 0 ? "null" : std::to_string(peak.proved)) +
            ", \"observed\": " + std::to_string(peak.observed) + "}";
  }
  return "[" + text + "]";
}

std::string json_of(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string json_of(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      quoted += escape.data();
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string hash_text(std::uint64_t hash) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

}  // namespace gpt
