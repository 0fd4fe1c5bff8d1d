// A world with too little of something: what a call says and leaves there.
//
// Each runs `call` in a child of its own, so that nothing of it outlives the call. What the child
// returns comes back as text; nothing: this machine cannot make such a world for us.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ripeline::testing_support {

// No file may grow beyond `bytes`.
[[nodiscard]] std::optional<std::string> with_small_files(long bytes,
                                                          const std::function<std::string()>& call);
// `folder` is a file system of its own, made with `options` as of tmpfs(5): `size=64k`,
// `nr_inodes=3`. What is in it is gone afterwards.
[[nodiscard]] std::optional<std::string> with_file_system(const std::string& folder,
                                                          const std::string& options,
                                                          const std::function<std::string()>& call);
// Without the rights of root.
[[nodiscard]] std::optional<std::string> without_rights(const std::function<std::string()>& call);

}  // namespace ripeline::testing_support
