#include "runtime/protocol/gather.h"

#include "runtime/blob_io.h"
#include "runtime/protocol/tree.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kLongestTag = 256;

}  // namespace

Gathers::Gathers(int self, const core::Layout& layout)
    : self_(self), processes_(layout.processes()), layout_(layout) {}

Status Gathers::check_tag(int from, const Part& part) const {
  if (part.tag == tag_) return {};
  return {StatusCode::refused, layout_.name(from) + " gathers '" + part.tag + "', " +
                                   layout_.name(self_) + " gathers '" + tag_ +
                                   "': all ranks must gather the same, in the same order"};
}

void Gathers::add(const Part& part) {
  for (const auto& [process, blob] : part.blobs) parts_[process] = blob;
}

Status Gathers::begin(std::string tag, Blob mine) {
  if (active_ || tag.size() > kLongestTag) {
    return {StatusCode::invalid, active_ ? "'" + tag_ + "' is being gathered already"
                                         : "the tag of a gather has at most 256 bytes"};
  }
  ++number_;
  active_ = true;
  told_parent_ = told_children_ = false;
  tag_ = std::move(tag);
  parts_.clear();
  came_.clear();
  parts_[self_] = std::move(mine);
  for (auto& [child, kept] : std::exchange(children_, {})) {
    if (Status s = check_tag(child, kept.second); !s.ok()) return s;
    came_.insert(child);
    add(kept.second);
  }
  return {};
}

Status Gathers::take(int from, std::int64_t number, const Payload& payload) {
  const auto refused = [&](const std::string& what) {
    return Status(StatusCode::invalid, layout_.name(from) + " sent " + what);
  };
  const bool is_child = parent_of(from) == self_;
  if (!is_child && (self_ == 0 || from != parent_of(self_)))
    return refused("a gather that is not its");
  const Blob bytes = blob_of(payload);
  BlobReader reader(bytes);
  Part part;
  part.tag = reader.text(kLongestTag);
  const auto count = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto process = reader.number<std::uint32_t>();
    const auto size = reader.number<std::uint64_t>();
    const std::byte* const at = reader.bytes(size);
    if (at == nullptr || process >= static_cast<std::uint32_t>(processes_)) {
      return refused("a gather that is cut off, or of a rank that there is not");
    }
    part.blobs[static_cast<int>(process)] = Blob(at, at + size);
  }
  if (!reader.is_done()) return refused("a gather that is not one");
  // A child sends the bytes of its subtree; the parent sends those of all processes.
  for (int process = 0; process < processes_; ++process) {
    if (part.blobs.contains(process) == (!is_child || is_below(process, from))) continue;
    return refused("a gather of other ranks' parts than it has to give");
  }
  const bool is_next = number == number_ + 1 && is_child && !children_.contains(from);
  const bool is_now = active_ && number == number_ && !have_all();
  // The parent cannot have all bytes before this process has sent it those of its subtree.
  if (!is_next && !(is_now && (is_child ? !came_.contains(from) : told_parent_))) {
    return refused("gather " + std::to_string(number) + ", but " + std::to_string(number_) +
                   " is the present one");
  }
  if (is_next) {
    children_[from] = {number, std::move(part)};
    return {};
  }
  if (Status s = check_tag(from, part); !s.ok()) return s;
  if (is_child) came_.insert(from);
  add(part);
  return {};
}

Outgoing Gathers::outgoing(int to) const {
  BlobWriter bytes;
  bytes.text(tag_);
  bytes.number(static_cast<std::uint32_t>(parts_.size()));
  for (const auto& [process, blob] : parts_) {
    bytes.number(static_cast<std::uint32_t>(process));
    bytes.number(static_cast<std::uint64_t>(blob.size()));
    bytes.bytes(blob.data(), blob.size());
  }
  return {.to = to,
          .envelope = {.signal = signals::Gather{number_}},
          .payload = payload_of(bytes.take())};
}

void Gathers::take_outgoing(std::vector<Outgoing>& sends) {
  if (!active_) return;
  const std::vector<int> below = children_of(self_, processes_);
  if (!told_parent_ && self_ > 0 && came_.size() == below.size()) {
    told_parent_ = true;
    sends.push_back(outgoing(parent_of(self_)));
  }
  if (!told_children_ && have_all() && (self_ == 0 || told_parent_)) {
    told_children_ = true;
    for (const int child : below) sends.push_back(outgoing(child));
  }
}

std::vector<Blob> Gathers::take() {
  std::vector<Blob> all;
  for (auto& [process, blob] : parts_) all.push_back(std::move(blob));
  parts_.clear();
  active_ = false;
  return all;
}

int Gathers::waits_for() const {
  if (!active_ || have_all()) return -1;
  for (const int child : children_of(self_, processes_)) {
    if (!came_.contains(child)) return child;
  }
  return parent_of(self_);
}

}  // namespace ripeline::runtime::protocol
