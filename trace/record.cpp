#include "trace/record.h"

#include <array>

namespace ripeline::trace {
namespace {

struct Names {
  const char* word;
  const char* text;
};
constexpr std::array<Names, 10> kNames = {{
    {"unknown", "idle"},
    {"input", "no input"},
    {"slot", "no slot"},
    {"room", "no room"},
    {"engine", "engine busy"},
    {"order", "not its turn"},
    {"hold", "held"},
    {"agreement", "no agreement"},
    {"done", "nothing left"},
    {"host", "host busy"},
}};

}  // namespace

const char* text_of(Cause cause) { return kNames[static_cast<std::size_t>(cause)].text; }
const char* word_of(Cause cause) { return kNames[static_cast<std::size_t>(cause)].word; }

}  // namespace ripeline::trace
