#include "examples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "files/new_file.h"

namespace vlm {

using ripeline::core::Status;
using ripeline::core::StatusCode;

namespace {

namespace fs = std::filesystem;

using Colour = std::array<int, 3>;
struct Named {
  const char* name;
  Colour colour;
};
constexpr std::array<Named, 6> kColours = {{{"red", {220, 40, 40}},
                                            {"green", {40, 200, 60}},
                                            {"blue", {50, 80, 230}},
                                            {"yellow", {230, 220, 50}},
                                            {"purple", {190, 60, 200}},
                                            {"white", {245, 245, 245}}}};
constexpr std::array kShapes = {"circle", "square", "triangle", "cross"};
constexpr std::array kSizes = {"small", "", "large"};
constexpr std::array kRows = {"top", "", "bottom"};
constexpr std::array kColumns = {"left", "", "right"};

// Whether a point lies in the shape; x and y are relative to the shape's middle.
bool covers(std::size_t shape, double x, double y, double radius) {
  const double far = std::max(std::abs(x), std::abs(y));
  switch (shape) {
    case 0:
      return std::hypot(x, y) <= radius;
    case 1:
      return far <= 0.8 * radius;
    case 2:
      return y <= 0.8 * radius && std::abs(x) <= 0.6 * (y + radius);
    default:
      return far <= radius && std::min(std::abs(x), std::abs(y)) <= 0.3 * radius;
  }
}

Example make_example(std::uint64_t seed, int index) {
  std::seed_seq mix{seed, seed >> 32, static_cast<std::uint64_t>(index)};
  std::mt19937_64 random(mix);
  const auto draw = [&random](std::size_t count) {
    return static_cast<std::size_t>(random() % count);
  };
  // These are separate statements, since the order in which arguments are evaluated is not fixed.
  const int width = kPatch * static_cast<int>(3 + draw(6));
  const int height = kPatch * static_cast<int>(3 + draw(6));
  const std::size_t size = draw(kSizes.size());
  const std::size_t colour = draw(kColours.size());
  const std::size_t shape = draw(kShapes.size());
  const std::size_t row = draw(kRows.size());
  const std::size_t column = draw(kColumns.size());
  const double radius = std::min(width, height) * (0.14 + 0.07 * static_cast<double>(size));
  const double middle_x = width * (0.28 + 0.22 * static_cast<double>(column));
  const double middle_y = height * (0.28 + 0.22 * static_cast<double>(row));

  Example example{{width, height, {}}, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool in = covers(shape, x + 0.5 - middle_x, y + 0.5 - middle_y, radius);
      for (const int channel : kColours[colour].colour) {
        const int noise = static_cast<int>(draw(41)) - 20;
        const int value = (in ? channel : 70) + noise;
        example.image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
      }
    }
  }
  const bool centred = row == 1 && column == 1;
  for (const char* word : {"a", kSizes[size], kColours[colour].name, kShapes[shape], "at", "the",
                           centred ? "centre" : kRows[row], kColumns[column]}) {
    if (*word == '\0') continue;
    example.caption += example.caption.empty() ? "" : " ";
    example.caption += word;
  }
  return example;
}

std::string captions_in(const std::string& folder) { return folder + "/captions.txt"; }

// Reads a line of captions.txt. Fails by status, which describes what is wrong with the line.
Status read_example(const std::string& folder, const std::string& line, Example& example) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string::npos || tab == 0) {
    return {StatusCode::invalid, "a line is a file, a tab and a caption"};
  }
  const std::string file = line.substr(0, tab);
  example.caption = line.substr(tab + 1);
  std::istringstream words(example.caption);
  const auto count = std::distance(std::istream_iterator<std::string>(words), {});
  if (count < 1 || count > kMostWords) {
    return {StatusCode::invalid, "the caption of " + file + " has " + std::to_string(count) +
                                     " words; 1 to " + std::to_string(kMostWords) +
                                     " are possible"};
  }
  const Status status = read_png((fs::path(folder) / file).string(), example.image);
  return status.ok() ? status : Status(status.code(), file + ": " + status.message());
}

}  // namespace

std::vector<Example> make_examples(int count, std::uint64_t seed) {
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) examples.push_back(make_example(seed, i));
  return examples;
}

Status write_examples(const std::string& folder, const std::vector<Example>& examples) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return {StatusCode::failed, folder + " cannot be made: " + error.message()};
  if (fs::exists(captions_in(folder), error)) {
    return {StatusCode::invalid, captions_in(folder) + " is there already: name a new folder"};
  }
  std::string captions;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::array<char, 32> file{};
    std::snprintf(file.data(), file.size(), "%05zu.png", i);
    const std::string path = folder + "/" + file.data();
    if (Status status = write_png(path, examples[i].image); !status.ok()) return status;
    captions += std::string(file.data()) + '\t' + examples[i].caption + '\n';
  }
  return ripeline::files::write_file(captions_in(folder), captions);
}

Status read_examples(const std::string& folder, std::vector<Example>& examples) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return {StatusCode::invalid, folder + " is no folder; --make-data makes one with images"};
  }
  const std::string path = captions_in(folder);
  std::ifstream captions(path);
  if (!captions.is_open()) return {StatusCode::invalid, path + " cannot be read"};
  examples.clear();
  std::string line;
  for (int number = 1; std::getline(captions, line); ++number) {
    Example& example = examples.emplace_back();
    if (const Status status = read_example(folder, line, example); !status.ok()) {
      return {status.code(), path + ":" + std::to_string(number) + ": " + status.message()};
    }
  }
  if (captions.bad()) return {StatusCode::failed, path + " cannot be read to its end"};
  if (examples.empty()) return {StatusCode::invalid, path + " has no line"};
  return {};
}

std::uint64_t digest_of(const std::vector<Example>& examples) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto add = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (const Example& example : examples) {
    add(static_cast<std::uint64_t>(example.image.width));
    add(static_cast<std::uint64_t>(example.image.height));
    for (const std::uint8_t byte : example.image.pixels) add(byte);
    for (const char byte : example.caption) add(static_cast<unsigned char>(byte));
  }
  return hash;
}

}  // namespace vlm
