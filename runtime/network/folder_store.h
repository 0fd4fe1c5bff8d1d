// FolderStore: the store of the processes of one host, in a folder of their user alone (mode 0700).
//
// Each key is a file, renamed into the folder. The process that claims a key locks its file (an
// open file description's lock), and the kernel releases the lock when the process ends. The folder
// is made if missing, and removed with its last file. The store keeps an open file in reserve, so
// that a process with no descriptors or disk space left can report that once, by set_if_absent().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::runtime::network {

class FolderStore final : public Store {
 public:
  // Refuses a path that is not a folder, and a folder that other users may enter: whoever can write
  // into it can pose as a process of the run.
  static core::Status open(const std::string& folder, std::unique_ptr<FolderStore>& store);
  ~FolderStore() override;  // ends this process's claims
  FolderStore(const FolderStore&) = delete;
  FolderStore& operator=(const FolderStore&) = delete;

  [[nodiscard]] std::string name() const override { return folder_; }
  core::Status set(const std::string& key, const Blob& value) override;
  core::Status set_if_absent(const std::string& key, const Blob& value, Blob& there) override;
  core::Status get(const std::string& key, std::optional<Blob>& value) override;
  void remove(const std::string& key) override;
  core::Status claim(const std::string& key, const Blob& value, Blob& there) override;
  void release(const std::string& key) override;
  [[nodiscard]] Claim claim_of(const std::string& key) override;
  [[nodiscard]] int watch() override;

 private:
  // A file that contains its value, but does not have the name of its key yet.
  struct Draft {
    std::string path;
    int descriptor = -1;
  };

  explicit FolderStore(std::string folder);
  [[nodiscard]] std::string path_of(const std::string& key) const { return folder_ + "/" + key; }
  core::Status draft(const std::string& key, const Blob& value, Draft& draft);
  bool use_reserve(const Blob& value, Draft& draft);
  [[nodiscard]] bool put(const Draft& draft, const std::string& key) const;
  core::Status read(const std::string& key, Blob& value);  // `value` is empty if the key is not set
  // Takes over the key if the process that claimed it has ended; false if it was not taken over.
  bool replace_abandoned(const std::string& key, const Draft& draft, Blob& there);

  std::string folder_;
  Draft reserve_;
  std::map<std::string, int> claims_;  // the descriptors with the locks, by key
};

}  // namespace ripeline::runtime::network
