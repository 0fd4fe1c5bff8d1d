#include "trace/parts.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace ripeline::trace {
namespace {

namespace fs = std::filesystem;
using core::Status;
using core::StatusCode;
using core::StatusOr;

constexpr std::string_view kBefore = "rank-";
constexpr std::string_view kAfter = ".json";

// The rank in a file's name, such as 3 in `rank-3.json`; nullopt for any other name.
std::optional<int> rank_of(std::string_view name) {
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return std::nullopt;
  name.remove_prefix(kBefore.size());
  name.remove_suffix(std::min(name.size(), kAfter.size()));
  int rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc{} || end != name.data() + name.size() || rank < 0) return std::nullopt;
  return rank;
}

StatusOr<std::map<int, std::string>> find_parts(const std::string& folder) {
  std::map<int, std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto rank = rank_of(entry->path().filename().string());
    if (rank) paths[*rank] = entry->path().string();
  }
  if (error) return Status(StatusCode::failed, folder + ": cannot be read: " + error.message());
  return paths;
}

// Reads the parts one after another, and checks that they are of one run and of different ranks.
class Reader {
 public:
  Status open(const std::string& folder) {
    folder_ = folder;
    auto paths = find_parts(folder);
    if (!paths.ok()) return paths.status();
    paths_ = std::move(paths).value();
    if (!paths_.empty()) return {};
    return {StatusCode::invalid,
            folder + ": there is no part of a trace in this folder, as rank-0.json"};
  }

  // Reads the next part; nullopt if there are no more, after which notes() is complete.
  std::optional<StatusOr<File>> next() {
    if (paths_.empty()) return std::nullopt;
    const std::string path = paths_.extract(paths_.begin()).mapped();
    StatusOr<File> part = read(path);
    if (!part.ok()) return part;
    const About& about = part.value().about;
    if (Status s = check(path, about); !s.ok()) return s;
    const std::vector<std::string>& notes = part.value().notes;
    notes_.insert(notes_.end(), notes.begin(), notes.end());
    if (paths_.empty()) note_missing(about.facts().ranks);
    return part;
  }

  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }

 private:
  Status check(const std::string& path, const About& about) {
    if (!about.part) {
      return {StatusCode::invalid, path + ": this is a whole trace, and no part of one"};
    }
    if (ranks_.empty()) {
      first_ = path;
      run_ = about.identity();
    } else if (about.identity() != run_) {
      return {StatusCode::refused, path + " is of " + about.identity() + ", and " + first_ +
                                       " of " + run_ + ": parts of one trace are of one run"};
    }
    const auto [other, is_new] = ranks_.emplace(about.part->rank, path);
    if (is_new) return {};
    return {StatusCode::refused, path + " and " + other->second + " are both of rank " +
                                     std::to_string(about.part->rank)};
  }

  void note_missing(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      if (ranks_.contains(rank)) continue;
      notes_.push_back(folder_ + ": the part of rank " + std::to_string(rank) + " is not here");
    }
  }

  std::string folder_;
  std::map<int, std::string> paths_;  // by rank, of parts not read yet
  std::map<int, std::string> ranks_;  // by rank, of parts read
  std::string first_;
  std::string run_;
  std::vector<std::string> notes_;
};

template <class Event>
void append(std::vector<Event>& to, const std::vector<Event>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::string parts_folder(const std::string& trace) { return trace + ".parts"; }

std::string part_path(const std::string& folder, int rank) {
  return folder + "/" + std::string(kBefore) + std::to_string(rank) + std::string(kAfter);
}

PartWriter::PartWriter(const std::string& folder, const About& about)
    : text_(about),
      path_(part_path(folder, about.part->rank)),
      out_(path_, std::ios::binary | std::ios::trunc) {
  failure_ = put(opening_text(about));
  std::error_code ignored;
  if (!failure_.ok()) fs::remove(path_, ignored);
}

Status PartWriter::append(const Record& record) {
  const std::string events = text_.of(record);
  if (failure_.ok() && !events.empty()) failure_ = put(",\n" + events);
  return failure_;
}

// Overwrites the closing brackets with `events`, and writes the brackets again.
Status PartWriter::put(const std::string& events) {
  if (out_.seekp(static_cast<std::streamoff>(end_)) << events << kClosing << std::flush) {
    end_ += events.size();
    return {};
  }
  Status failure(StatusCode::failed, path_ + ": cannot be written: " + std::strerror(errno));
  out_.clear();
  out_.close();
  // Restores the file's previous length and its brackets. This needs no additional disk space.
  std::error_code ignored;
  fs::resize_file(path_, end_, ignored);
  std::ofstream(path_, std::ios::binary | std::ios::app) << kClosing;
  return failure;
}

StatusOr<File> read_parts(const std::string& folder) {
  Reader reader;
  if (Status s = reader.open(folder); !s.ok()) return s;
  File all;
  bool is_first = true;
  for (; auto part = reader.next(); is_first = false) {
    if (!part->ok()) return part->status();
    File& file = part->value();
    if (is_first) all.about = std::move(file.about);
    append(all.record.tasks, file.record.tasks);
    append(all.record.messages, file.record.messages);
    append(all.record.idle, file.record.idle);
  }
  all.about.part.reset();
  all.notes = std::move(reader.notes());
  return all;
}

Status merge_parts(const std::string& folder, const std::string& path,
                   std::vector<std::string>* notes) {
  Reader reader;
  if (Status s = reader.open(folder); !s.ok()) return s;
  About about;
  std::optional<Writer> writer;
  while (auto part = reader.next()) {
    if (!part->ok()) return part->status();
    if (!writer) {
      about = std::move(part->value().about);
      about.part.reset();
      writer.emplace(path, about);
    }
    writer->add(part->value().record);
  }
  if (notes != nullptr) {
    *notes = std::move(reader.notes());
  } else if (!reader.notes().empty()) {
    return {StatusCode::failed, reader.notes().front()};
  }
  return writer->finish();
}

Status finish_parts(const std::string& trace) {
  const std::string folder = parts_folder(trace);
  const Status merged = merge_parts(folder, trace, nullptr);
  if (merged.ok()) {
    remove_parts(folder);
    return {};
  }
  return {merged.code(), merged.message() + "; the parts stay: `ripeline show " + folder +
                             " --trace " + trace + "` makes one trace of them"};
}

void remove_parts(const std::string& folder) {
  std::error_code ignored;
  const auto paths = find_parts(folder);
  if (!paths.ok()) return;
  for (const auto& [rank, path] : paths.value()) fs::remove(path, ignored);
  fs::remove(folder, ignored);
}

}  // namespace ripeline::trace
