#include "data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace gpt {
namespace {

namespace fs = std::filesystem;
using ripeline::core::Status;
using ripeline::core::StatusCode;

Status append_file(const fs::path& path, std::vector<std::uint8_t>& text) {
  std::ifstream file(path, std::ios::binary);
  text.insert(text.end(), std::istreambuf_iterator<char>(file), {});
  return file.bad() || !file.is_open() ? Status(StatusCode::failed, "cannot read " + path.string())
                                       : Status();
}

}  // namespace

Status read_text(const std::string& path, std::size_t least, std::vector<std::uint8_t>& text) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (entry.is_regular_file(error) && !entry.is_symlink(error)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  text.clear();
  for (const fs::path& file : files) {
    if (Status status = append_file(file, text); !status.ok()) return status;
  }
  if (text.size() < least) {
    return {StatusCode::invalid, path + " has " + std::to_string(text.size()) +
                                     " bytes of text, at least " + std::to_string(least) +
                                     " are needed: name another with --text"};
  }
  return {};
}

torch::Tensor Batches::window(std::int64_t step, int microbatch, std::int64_t shift) const {
  std::seed_seq mix{seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(microbatch)};
  std::mt19937_64 random(mix);
  torch::Tensor bytes = torch::empty({batch, context}, torch::kInt64);
  auto* out = bytes.mutable_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < batch; ++row) {
    const auto begin =
        static_cast<std::ptrdiff_t>(random() % (text.size() - static_cast<std::size_t>(context)));
    out = std::copy_n(text.begin() + begin + shift, context, out);
  }
  return bytes;
}

torch::Tensor Batches::input(std::int64_t step, int microbatch) const {
  return window(step, microbatch, 0);
}

torch::Tensor Batches::labels(std::int64_t step, int microbatch) const {
  return window(step, microbatch, 1);
}

}  // namespace gpt
