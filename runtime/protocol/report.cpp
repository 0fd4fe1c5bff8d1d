#include "runtime/protocol/report.h"

#include <algorithm>

#include "runtime/blob_io.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;
using core::Time;

constexpr std::size_t kLongestText = 8192;  // bytes
constexpr std::uint32_t kMostWaits = 4096;
constexpr std::uint32_t kMostComplaints = 64;

void write(BlobWriter& to, core::Task task) {
  to.number(task.lane);
  to.number(task.microbatch);
}

core::Task read_task(BlobReader& from) {
  core::Task task;
  task.lane = from.number<core::LaneId>();
  task.microbatch = from.number<std::int32_t>();
  return task;
}

void write(BlobWriter& to, const core::Wait& wait) {
  to.number(static_cast<std::uint8_t>(wait.reason));
  write(to, wait.task);
  to.number(wait.message.edge);
  to.number(wait.message.microbatch);
  write(to, wait.other);
  to.number(wait.pool);
  to.number(wait.on);
  to.number(wait.held);
}

core::Wait read_wait(BlobReader& from) {
  core::Wait wait;
  // An unknown reason becomes the last one, so core::fits() checks the ids as for that reason.
  const auto last = static_cast<std::uint8_t>(core::Wait::For::gather);
  wait.reason = static_cast<core::Wait::For>(std::min(from.number<std::uint8_t>(), last));
  wait.task = read_task(from);
  wait.message.edge = from.number<core::EdgeId>();
  wait.message.microbatch = from.number<std::int32_t>();
  wait.other = read_task(from);
  wait.pool = from.number<int>();
  wait.on = from.number<int>();
  wait.held = from.number<std::int64_t>();
  return wait;
}

void write(BlobWriter& to, const Complaint& complaint, Time now) {
  to.number(complaint.process);
  to.number(static_cast<std::uint8_t>(complaint.of));
  to.number(static_cast<std::int64_t>((now - complaint.since).count()));
  to.text(complaint.text.substr(0, kLongestText));
}

// Reads an age and subtracts it from `now`. An age below 0 counts as 0, one above `now` as `now`.
Time read_since(BlobReader& from, Time now) {
  const Time age{std::max<std::int64_t>(0, from.number<std::int64_t>())};
  return now - std::min(age, now);
}

Complaint read_complaint(BlobReader& from, Time now) {
  Complaint complaint;
  complaint.process = from.number<int>();
  const auto last = static_cast<std::uint8_t>(Complaint::Of::silent);
  complaint.of = static_cast<Complaint::Of>(std::min(from.number<std::uint8_t>(), last));
  complaint.since = read_since(from, now);
  complaint.text = from.text(kLongestText);
  return complaint;
}

}  // namespace

Payload encode_report(const ProcessReport& report, Time now) {
  BlobWriter to;
  to.number(static_cast<std::uint8_t>(report.status.code()));
  to.text(report.status.message().substr(0, kLongestText));
  to.text(report.last.substr(0, kLongestText));
  const auto complaints = std::min<std::size_t>(report.complaints.size(), kMostComplaints);
  to.number(static_cast<std::uint32_t>(complaints));
  for (std::size_t i = 0; i < complaints; ++i) write(to, report.complaints[i], now);
  const core::RankWaits& waits = report.waits;
  to.number(report.process);
  to.number(waits.step);
  const auto running = std::min<std::size_t>(waits.running.size(), kMostWaits);
  to.number(static_cast<std::uint32_t>(running));
  for (std::size_t i = 0; i < running; ++i) {
    write(to, waits.running[i].task);
    to.number(static_cast<std::int64_t>((now - waits.running[i].since).count()));
  }
  const auto waiting = std::min<std::size_t>(waits.waits.size(), kMostWaits);
  to.number(static_cast<std::uint32_t>(waiting));
  for (std::size_t i = 0; i < waiting; ++i) write(to, waits.waits[i]);
  return payload_of(to.take());
}

Status decode_report(const Payload& payload, Time now, ProcessReport& report) {
  const Blob bytes = blob_of(payload);
  BlobReader from(bytes);
  const auto code = from.number<std::uint8_t>();
  const std::string message = from.text(kLongestText);
  report.last = from.text(kLongestText);
  const auto complaints = from.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < std::min(complaints, kMostComplaints) && from.ok(); ++i) {
    report.complaints.push_back(read_complaint(from, now));
  }
  report.process = from.number<int>();
  report.waits.step = from.number<std::int64_t>();
  const auto running = from.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < std::min(running, kMostWaits) && from.ok(); ++i) {
    const core::Task task = read_task(from);
    report.waits.running.push_back({task, read_since(from, now)});
  }
  const auto waiting = from.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < std::min(waiting, kMostWaits) && from.ok(); ++i) {
    report.waits.waits.push_back(read_wait(from));
  }
  if (!from.is_done() || code > static_cast<std::uint8_t>(StatusCode::failed)) {
    return {StatusCode::invalid,
            "a report of " + std::to_string(bytes.size()) + " bytes that is none"};
  }
  report.status = Status(static_cast<StatusCode>(code), message);
  return {};
}

}  // namespace ripeline::runtime::protocol
