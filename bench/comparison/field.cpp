#include "bench/comparison/field.h"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "bench/hints.h"
#include "bench/rrfp.h"

namespace ripeline::bench::comparison {
namespace {

struct Class {
  Memory memory;
  const char* fixed;
  std::vector<const char*> hints;  // names in the library's program; rn and fc wait
};
const std::vector<Class> kAlone = {{Memory::p_minus_s, "1F1B", {"bf", "rn", "fc"}},
                                   {Memory::eager, "eager 1F1B", {"bf", "rn", "fc"}},
                                   {Memory::h1, "ZB-H1", {"bfw", "rn", "fc"}},
                                   {Memory::h2, "ZB-H2", {"bfw", "rn", "fc"}}};
const std::vector<Class> kInGroups = {{Memory::p_minus_s, "1F1B", {"bf", "fc"}},
                                      {Memory::eager, "eager 1F1B", {"rn"}},
                                      {Memory::h1, "ZB-H1", {"bfw", "fc"}},
                                      {Memory::h2, "ZB-H2", {"rn"}}};

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Makes each rank a group of `members`. All ops have collectives, except for weight gradients.
spec::Program in_group(spec::Program program, int members, core::Agree agree) {
  if (members == 1) return program;
  program.tensor_parallel = {.members = members, .agree = agree, .span = {}};
  for (spec::Lane& lane : program.lanes) {
    const bool weight =
        program.ops[static_cast<std::size_t>(lane.op)].kind == spec::OpKind::backward_weight;
    lane.collectives = weight ? 0 : 2;
  }
  program.hash = spec::hash_of(program);
  return program;
}

class Field {
 public:
  explicit Field(int members) : members_(members) {}

  void add_fixed(const std::string& name, spec::Program program) {
    add(name, name, false, in_group(std::move(program), members_, core::Agree::intersection));
  }
  void add_hint(const std::string& name, const std::string& against, bool limit,
                const spec::Program& program) {
    if (members_ == 1) return add(name, against, limit, program);
    if (program.dispatch.hint.patience) {
      return add(name, against, limit, in_group(program, members_, core::Agree::leader));
    }
    add(name, against, limit, in_group(program, members_, core::Agree::intersection));
    add(name + ", vote", against, limit, in_group(program, members_, core::Agree::vote));
  }
  [[nodiscard]] std::vector<Contender> take() { return std::move(contenders_); }

 private:
  void add(const std::string& name, const std::string& against, bool limit, spec::Program program) {
    contenders_.push_back({against, limit, Subject(name, std::move(program))});
    const Contender& added = contenders_.back();
    for (const Contender& fixed : contenders_) {
      if (limit || !fixed.is_fixed() || fixed.against != against) continue;
      if (fixed.subject.proved() != added.subject.proved()) {
        throw std::runtime_error(name + " has another memory than " + against);
      }
    }
  }

  int members_;
  std::vector<Contender> contenders_;
};

// Completes a name that refers to the name before it in its table; returns other names as they are.
std::string in_full(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"and messages, median", "tasks and messages, median"},
      {"the same, inputs", "messages .05, inputs"},
      {"the same, overtaking", "2 % of messages +20 F, overtaking"},
  };
  for (const auto& [leaning, full] : kNames) {
    if (name.starts_with(leaning)) return std::string(full) + name.substr(leaning.size());
  }
  return name;
}

bool has(const std::string& name, const std::string& part) {
  return name.find(part) != std::string::npos;
}

}  // namespace

std::vector<Contender> field_of(int ranks, int members) {
  Field field(members);
  const Size size{.ranks = ranks};
  for (const Class& c : members == 1 ? kAlone : kInGroups) {
    field.add_fixed(c.fixed, fixed_program(c.memory, size));
    for (const std::string hint : c.hints) {
      field.add_hint(upper(hint), c.fixed, false, hint_program(c.memory, size, "ready by " + hint));
    }
  }
  for (const rrfp::Entrant& entrant : rrfp::kLanguage) {
    const bool some = members == 1 || std::string(entrant.name) == "BF";
    if (!entrant.limit || !some) continue;
    field.add_hint(entrant.name, "1F1B", true, rrfp::program_of(entrant, ranks));
  }
  return field.take();
}

std::vector<Condition> conditions_of(const Latencies& latencies, const std::string& part) {
  std::vector<Condition> all;
  for (const rrfp::Condition& c : rrfp::kConditions) {
    all.push_back({in_full(c.name), rrfp::times_of(c, latencies.message)});
  }
  for (const auto& [name, jitter] : bench::conditions()) {
    if (!has(jitter, "tails") && !has(jitter, "input")) continue;
    all.push_back(
        {in_full(name), rrfp::times_of({name.c_str(), jitter.c_str()}, latencies.message)});
  }
  for (Condition& condition : all) {
    // Notices take as long as messages, and control messages as long as ballots.
    if (!condition.times.notice) condition.times.notice = latencies.message;
    condition.times.control = latencies.ballot;
  }
  std::erase_if(all, [&](const Condition& c) { return !has(c.name, part); });
  return all;
}

}  // namespace ripeline::bench::comparison
