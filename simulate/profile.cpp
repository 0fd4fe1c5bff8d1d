#include "simulate/profile.h"

#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace ripeline::simulate {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "ripeline.profile/1";

const json& field(const json& row, const char* name) {
  if (!row.is_object()) throw std::runtime_error("it is not an object");
  if (row.contains(name)) return row.at(name);
  throw std::runtime_error(std::string("there is no '") + name + "'");
}

std::string text_of(const json& row, const char* name) {
  const json& value = field(row, name);
  if (!value.is_string()) throw std::runtime_error(std::string(name) + " is not a text");
  return value;
}

// Reads a number that must be finite and not negative.
double as_number(const json& value, const char* name) {
  const double found = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(found) || found < 0 || found > 1e15) {
    throw std::runtime_error(std::string(name) + " is not a number from 0 to 1e15");
  }
  return found;
}
double number(const json& row, const char* name) { return as_number(field(row, name), name); }
double number_or_0(const json& row, const char* name) {
  return row.contains(name) ? number(row, name) : 0;
}

std::optional<int> index_of(const json& row, const char* name) {
  if (!row.contains(name)) return std::nullopt;
  const json& value = row.at(name);
  const double found = value.is_number() ? value.get<double>() : -1;
  if (found < 0 || found > std::numeric_limits<int>::max() || found != std::floor(found)) {
    throw std::runtime_error(std::string(name) + " is not a whole number from 0");
  }
  return static_cast<int>(found);
}

void put(json& row, const char* name, const std::optional<int>& value) {
  if (value) row[name] = *value;
}

// Calls `read` for each row of the table, if there is one.
template <class Read>
void each(const json& j, const char* table, const Read& read) {
  if (!j.contains(table)) return;
  if (!j.at(table).is_array()) throw std::runtime_error(std::string(table) + " is not a list");
  std::size_t i = 0;
  for (const json& row : j.at(table)) {
    try {
      read(row);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      throw std::runtime_error(std::string(table) + "[" + std::to_string(i) + "]: " + e.what());
    }
    ++i;
  }
}

Profile profile_of(const json& j) {
  if (j.is_object() && !j.contains("schema")) {
    throw std::runtime_error("there is no 'schema'; `ripeline profile` makes a profile of a trace");
  }
  if (text_of(j, "schema") != kSchema) {
    throw std::runtime_error("its schema is not " + std::string(kSchema));
  }
  const auto unit = unit_named(text_of(j, "unit"));
  if (!unit) throw std::runtime_error("unit is none of ns, us, ms and s");
  Profile p;
  p.unit = *unit;
  each(j, "tasks", [&p](const json& row) {
    p.tasks.push_back({text_of(row, "op"), index_of(row, "stage"), index_of(row, "microbatch"),
                       number(row, "mean"), number_or_0(row, "spread")});
  });
  each(j, "links", [&p](const json& row) {
    if (!row.is_object()) throw std::runtime_error("it is not an object");
    p.links.push_back({index_of(row, "from"), index_of(row, "to"), number_or_0(row, "latency"),
                       number_or_0(row, "spread"), number_or_0(row, "bytes_per_second")});
  });
  each(j, "messages", [&p](const json& row) {
    p.messages.push_back({text_of(row, "op"), number(row, "bytes")});
  });
  each(j, "inputs", [&p](const json& input) { p.inputs.push_back(as_number(input, "it")); });
  if (j.contains("control")) p.control = number(j, "control");
  return p;
}

// The entry of the first op of this kind that has an entry.
const Profile::Task* of_kind(const Profile& profile, const spec::Program& program,
                             spec::OpKind kind, int stage) {
  for (const spec::Op& op : program.ops) {
    if (op.kind != kind) continue;
    if (const Profile::Task* task = profile.find_task(op.name, stage)) return task;
  }
  return nullptr;
}

}  // namespace

std::optional<trace::Unit> unit_named(const std::string& name) {
  if (name == "ns") return trace::Unit{name, 1};
  if (name == "us") return trace::Unit{name, 1'000};
  if (name == "ms") return trace::Unit{name, 1'000'000};
  if (name == "s") return trace::Unit{name, 1'000'000'000};
  return std::nullopt;
}

const Profile::Task* Profile::find_task(const std::string& op, int stage) const {
  const Task* best = nullptr;
  for (const Task& task : tasks) {
    if (task.op != op || task.microbatch || task.stage.value_or(stage) != stage) continue;
    if (best == nullptr || task.stage || !best->stage) best = &task;
  }
  return best;
}

std::optional<Profile::Task> Profile::find_task(const spec::Program& program, int op,
                                                int stage) const {
  if (const Task* own = find_task(at(program.ops, op).name, stage)) return *own;
  if (at(program.ops, op).kind != spec::OpKind::backward) return std::nullopt;
  const Task* const input = of_kind(*this, program, spec::OpKind::backward_input, stage);
  const Task* const weight = of_kind(*this, program, spec::OpKind::backward_weight, stage);
  if (input == nullptr || weight == nullptr) return std::nullopt;
  Task whole = *input;
  whole.op = at(program.ops, op).name;
  whole.mean += weight->mean;
  // The hypotenuse, without std::hypot(), which Debian 12 links so that it needs glibc 2.35.
  whole.spread = std::sqrt(input->spread * input->spread + weight->spread * weight->spread);
  return whole;
}

double Profile::bytes_of(const spec::Program& program, int op) const {
  std::optional<double> bytes;
  const auto take = [&](const std::string& name) {
    for (const Message& message : messages) {
      if (message.op == name) bytes = message.bytes;
    }
  };
  take(at(program.ops, op).name);
  if (bytes || at(program.ops, op).kind != spec::OpKind::backward) return bytes.value_or(0);
  for (const spec::Op& other : program.ops) {
    if (other.kind == spec::OpKind::backward_input) take(other.name);
  }
  return bytes.value_or(0);
}

core::Status Profile::parse(const std::string& text, Profile& profile) {
  const auto invalid = [](const std::string& what) {
    return core::Status(core::StatusCode::invalid, what);
  };
  try {
    profile = profile_of(json::parse(text));
    return {};
  } catch (const json::parse_error& e) {
    return invalid("it is not JSON, from byte " + std::to_string(e.byte) + " on");
  } catch (const json::out_of_range&) {
    return invalid("a number in it is too large");
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return invalid(e.what());
  }
}

std::string Profile::to_json() const {
  json j = {{"schema", kSchema}, {"unit", unit.name}, {"inputs", inputs}};
  for (const char* table : {"tasks", "links", "messages"}) j[table] = json::array();
  for (const Task& t : tasks) {
    json row = {{"op", t.op}, {"mean", t.mean}, {"spread", t.spread}};
    put(row, "stage", t.stage);
    put(row, "microbatch", t.microbatch);
    j["tasks"].push_back(row);
  }
  for (const Link& l : links) {
    json row = {
        {"latency", l.latency}, {"spread", l.spread}, {"bytes_per_second", l.bytes_per_second}};
    put(row, "from", l.from);
    put(row, "to", l.to);
    j["links"].push_back(row);
  }
  for (const Message& m : messages) j["messages"].push_back({{"op", m.op}, {"bytes", m.bytes}});
  if (control) j["control"] = *control;
  return j.dump(1) + "\n";
}

}  // namespace ripeline::simulate
