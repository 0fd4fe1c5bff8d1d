// FolderStore: the store of the processes of one host: a folder of their user alone, mode 0700.
//
// Each key is a file, put there by rename. A claim's file is locked by its process (an open file
// description's lock), which the kernel ends with it. The folder is made if it is not there, and
// removed with the last file. It keeps an open file in reserve, so that a process which has no more
// descriptors, or finds the disk full, can still say so: by set_if_absent(), once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/network/store.h"

namespace ripeline::runtime::network {

class FolderStore final : public Store {
 public:
  // Refuses what is no folder, or one that others may enter: who can write into it can take a
  // process's place.
  static core::Status open(const std::string& folder, std::unique_ptr<FolderStore>& store);
  ~FolderStore() override;  // ends its claims
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
  // A file that has its value and not yet its name.
  struct Draft {
    std::string path;
    int descriptor = -1;
  };

  explicit FolderStore(std::string folder);
  [[nodiscard]] std::string path_of(const std::string& key) const { return folder_ + "/" + key; }
  core::Status draft(const std::string& key, const Blob& value, Draft& draft);
  bool use_reserve(const Blob& value, Draft& draft);
  [[nodiscard]] bool put(const Draft& draft, const std::string& key) const;
  core::Status read(const std::string& key, Blob& value);  // empty: not there
  // Takes the name from a process that has ended; false: from nobody.
  bool replace_abandoned(const std::string& key, const Draft& draft, Blob& there);

  std::string folder_;
  Draft reserve_;
  std::map<std::string, int> claims_;  // descriptors that hold the locks
};

}  // namespace ripeline::runtime::network
