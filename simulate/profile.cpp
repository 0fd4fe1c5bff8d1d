#include "simulate/profile.h"

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace ripeline::simulate {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "ripeline.profile/1";

// Not negative, and finite.
double number(const json& row, const char* name, std::optional<double> otherwise = {}) {
  if (!row.contains(name) && otherwise) return *otherwise;
  const double value = row.at(name);
  if (!std::isfinite(value) || value < 0 || value > 1e15) {
    throw std::runtime_error(std::string(name) + " is not a number from 0 to 1e15");
  }
  return value;
}

std::optional<int> index(const json& row, const char* name) {
  if (!row.contains(name)) return std::nullopt;
  const int value = row.at(name);
  if (value < 0) throw std::runtime_error(std::string(name) + " is negative");
  return value;
}

void put(json& row, const char* name, const std::optional<int>& value) {
  if (value) row[name] = *value;
}

json rows(const json& j, const char* name) { return j.value(name, json::array()); }

}  // namespace

std::optional<trace::Unit> unit_named(const std::string& name) {
  if (name == "ns") return trace::Unit{name, 1};
  if (name == "us") return trace::Unit{name, 1'000};
  if (name == "ms") return trace::Unit{name, 1'000'000};
  if (name == "s") return trace::Unit{name, 1'000'000'000};
  return std::nullopt;
}

core::Status Profile::parse(const std::string& text, Profile& profile) {
  const auto invalid = [](const std::string& what) {
    return core::Status(core::StatusCode::invalid, what);
  };
  try {
    const json j = json::parse(text);
    if (j.at("schema") != kSchema) return invalid("its schema is not " + std::string(kSchema));
    Profile p;
    const auto unit = unit_named(j.at("unit"));
    if (!unit) return invalid("unit is none of ns, us, ms and s");
    p.unit = *unit;
    for (const json& row : rows(j, "tasks")) {
      p.tasks.push_back({row.at("op"), index(row, "stage"), index(row, "microbatch"),
                         number(row, "mean"), number(row, "spread", 0)});
    }
    for (const json& row : rows(j, "links")) {
      p.links.push_back({index(row, "from"), index(row, "to"), number(row, "latency", 0),
                         number(row, "spread", 0), number(row, "bytes_per_second", 0)});
    }
    for (const json& row : rows(j, "messages")) {
      p.messages.push_back({row.at("op"), number(row, "bytes")});
    }
    for (const json& input : rows(j, "inputs")) p.inputs.push_back(input.get<double>());
    if (j.contains("control")) p.control = number(j, "control");
    profile = std::move(p);
    return {};
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
