#include "tests/support/source_tree.h"

#include <algorithm>
#include <filesystem>

namespace ripeline::testing_support {

namespace fs = std::filesystem;

std::vector<std::string> source_files(const std::string& root) {
  std::vector<std::string> files;
  const fs::path built = fs::path(root) / "build";
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    const fs::path& path = entry->path();
    if (path == built || path.filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() &&
               (path.extension() == ".h" || path.extension() == ".cpp")) {
      files.push_back(path.lexically_relative(root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ripeline::testing_support
