// Runs a call with little of some resource; returns the call's report and what it leaves behind.
//
// Each function runs `call` in a child process, so that nothing outlives the call. It returns the
// text that `call` returns in the child; nullopt if this machine does not allow the restriction.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ripeline::testing_support {

// No file can grow beyond `bytes`.
[[nodiscard]] std::optional<std::string> with_small_files(long bytes,
                                                          const std::function<std::string()>& call);
// `folder` is a file system of its own, mounted with `options` as in tmpfs(5), such as `size=64k`
// and `nr_inodes=3`. Its files are gone afterwards.
[[nodiscard]] std::optional<std::string> with_file_system(const std::string& folder,
                                                          const std::string& options,
                                                          const std::function<std::string()>& call);
// The call runs without the rights of root.
[[nodiscard]] std::optional<std::string> without_rights(const std::function<std::string()>& call);

}  // namespace ripeline::testing_support
