#include "load/folder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "load/input.h"

namespace ripeline::load {

bool is_folder(const std::string& file) {
  std::error_code ignored;
  return file != "-" && std::filesystem::is_directory(file, ignored);
}

std::string_view text_of(SkippedAs why) {
  switch (why) {
    case SkippedAs::without_action:
      return "without an action of PyTorch in any cell";
    case SkippedAs::program:
      return "in the language, which `ripeline verify` judges";
  }
  return {};
}

nlohmann::json skipped_json(const std::vector<Skipped>& skipped) {
  nlohmann::json files = nlohmann::json::array();
  for (const Skipped& one : skipped) {
    files.push_back({{"file", one.file}, {"reason", text_of(one.why)}});
  }
  return files;
}

ProgramsBelow programs_below(const std::string& folder, Below wanted) {
  namespace fs = std::filesystem;
  ProgramsBelow below;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const std::string path = it->path().string();
    const bool program = it->path().extension() == ".ripe";
    const bool csv = is_csv(path);
    if (program && wanted == Below::schedules) {
      below.skipped.push_back({path, SkippedAs::program});
    } else if (program || (csv && may_be_schedule(path))) {
      below.files.push_back(path);
    } else if (csv) {
      below.skipped.push_back({path, SkippedAs::without_action});
    }
  }
  std::sort(below.files.begin(), below.files.end());
  std::sort(below.skipped.begin(), below.skipped.end(),
            [](const Skipped& a, const Skipped& b) { return a.file < b.file; });
  if (error) {
    below.read = spec::failure(fmt::format("{}: cannot be read: {}", folder, error.message()));
  } else if (below.files.empty()) {
    below.read = spec::failure(fmt::format("{}: there is no {} below this folder", folder,
                                           wanted == Below::schedules
                                               ? "schedule of PyTorch (CSV)"
                                               : ".ripe file and no schedule of PyTorch (CSV)"));
  }
  return below;
}

}  // namespace ripeline::load
