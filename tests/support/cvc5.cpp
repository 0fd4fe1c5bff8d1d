#include "tests/support/cvc5.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ripeline::testing_support {
namespace {

certificates::Reply ask_one(const std::string& text) {
  std::string path = (std::filesystem::temp_directory_path() / "ripeline-question-XXXXXX").string();
  close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary) << text;
  FILE* pipe = popen(("timeout 60 cvc5 --lang smt2 '" + path + "' 2>&1").c_str(), "r");
  std::array<char, 256> buffer{};
  std::string out;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  pclose(pipe);
  std::filesystem::remove(path);
  if (out == "unsat\n") return {verify::Answer::unsat, {}};
  if (out == "sat\n") return {verify::Answer::sat, {}};
  return {verify::Answer::unknown, out};
}

}  // namespace

std::vector<certificates::Reply> ask_cvc5(const std::vector<std::string>& texts) {
  std::vector<certificates::Reply> replies;
  for (const std::string& text : texts) replies.push_back(ask_one(text));
  return replies;
}

}  // namespace ripeline::testing_support
