#include "optimise/solver/cp_message.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace ripeline::optimise {
namespace {

using protozero::pbf_writer;
using Number = CpModel::Value;

// CP-SAT's numbers of the message fields that are written here.
enum Field : protozero::pbf_tag_type {
  model_variables = 2,
  model_constraints = 3,
  model_objective = 4,
  model_hint = 6,
  variable_domain = 2,
  constraint_only_if = 2,
  constraint_linear = 12,
  constraint_interval = 19,
  constraint_no_overlap = 20,
  constraint_cumulative = 22,
  linear_variables = 1,
  linear_coefficients = 2,
  linear_domain = 3,
  expression_variables = 1,
  expression_coefficients = 2,
  expression_offset = 3,
  interval_start = 4,
  interval_end = 5,
  interval_size = 6,
  no_overlap_intervals = 1,
  cumulative_capacity = 1,
  cumulative_intervals = 2,
  cumulative_demands = 3,
  objective_variables = 1,
  objective_coefficients = 4,
  hint_variables = 1,
  hint_values = 2,
  parameter_seed = 31,
  parameter_seconds = 36,
  parameter_linearization_level = 90,
  parameter_catches_sigint = 135,
  parameter_workers = 206,
  response_status = 1,
  response_solution = 2,
  response_bound = 4,
  response_text = 20,
};

void write_numbers(pbf_writer& message, Field field, const std::vector<int>& numbers) {
  message.add_packed_int32(field, numbers.begin(), numbers.end());
}
void write_values(pbf_writer& message, Field field, const std::vector<Number>& values) {
  message.add_packed_int64(field, values.begin(), values.end());
}

void write(pbf_writer& message, Field field, const CpModel::Affine& affine) {
  pbf_writer expression(message, field);
  if (affine.variable >= 0) {
    write_numbers(expression, expression_variables, {affine.variable});
    write_values(expression, expression_coefficients, {affine.coefficient});
  }
  expression.add_int64(expression_offset, affine.offset);
}

void write(pbf_writer& model, const CpModel::Interval& interval) {
  pbf_writer constraint(model, model_constraints);
  pbf_writer message(constraint, constraint_interval);
  write(message, interval_start, interval.start);
  write(message, interval_end, interval.end);
  write(message, interval_size, interval.size);
}

void write(pbf_writer& model, const CpModel::Linear& linear) {
  pbf_writer constraint(model, model_constraints);
  if (linear.only_if != CpModel::kAlways) {
    write_numbers(constraint, constraint_only_if, {linear.only_if});
  }
  pbf_writer message(constraint, constraint_linear);
  std::vector<int> variables;
  std::vector<Number> coefficients;
  for (const auto& [variable, coefficient] : linear.terms) {
    variables.push_back(variable);
    coefficients.push_back(coefficient);
  }
  write_numbers(message, linear_variables, variables);
  write_values(message, linear_coefficients, coefficients);
  write_values(message, linear_domain, {linear.least, linear.most});
}

void write(pbf_writer& model, const CpModel::Cumulative& cumulative) {
  pbf_writer constraint(model, model_constraints);
  pbf_writer message(constraint, constraint_cumulative);
  write(message, cumulative_capacity, CpModel::Affine{.offset = cumulative.capacity});
  std::vector<int> intervals;
  for (const auto& [interval, demand] : cumulative.demands) intervals.push_back(interval);
  write_numbers(message, cumulative_intervals, intervals);
  for (const auto& [interval, demand] : cumulative.demands) {
    write(message, cumulative_demands, CpModel::Affine{.offset = demand});
  }
}

}  // namespace

std::string bytes_of(const CpModel& model) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const CpModel::Domain& domain : model.variables) {
    pbf_writer variable(message, model_variables);
    write_values(variable, variable_domain, {domain.least, domain.most});
  }
  // Intervals come first, since other constraints refer to them by their constraint indices.
  for (const CpModel::Interval& interval : model.intervals) write(message, interval);
  for (const CpModel::Linear& linear : model.linears) write(message, linear);
  for (const std::vector<int>& intervals : model.no_overlaps) {
    pbf_writer constraint(message, model_constraints);
    pbf_writer no_overlap(constraint, constraint_no_overlap);
    write_numbers(no_overlap, no_overlap_intervals, intervals);
  }
  for (const CpModel::Cumulative& cumulative : model.cumulatives) write(message, cumulative);
  {
    pbf_writer objective(message, model_objective);
    write_numbers(objective, objective_variables, {model.objective});
    write_values(objective, objective_coefficients, {1});
  }
  if (!model.hint.empty()) {
    pbf_writer hint(message, model_hint);
    std::vector<int> variables;
    while (variables.size() < model.hint.size()) {
      variables.push_back(static_cast<int>(variables.size()));
    }
    write_numbers(hint, hint_variables, variables);
    write_values(hint, hint_values, model.hint);
  }
  return bytes;
}

std::string bytes_of(const CpParameters& parameters) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_int32(parameter_seed, static_cast<std::int32_t>(parameters.seed & 0x7fffffff));
  message.add_double(parameter_seconds, parameters.seconds);
  message.add_bool(parameter_catches_sigint, false);
  message.add_int32(parameter_workers, parameters.workers);
  if (!parameters.relaxes) message.add_int32(parameter_linearization_level, 0);
  return bytes;
}

std::optional<CpResponse> response_of(std::string_view bytes) {
  CpResponse response;
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag_and_type()) {
        case protozero::tag_and_type(response_status, protozero::pbf_wire_type::varint): {
          const std::int32_t status = message.get_enum();
          if (status < 0 || status > static_cast<int>(CpResponse::Status::optimal)) {
            return std::nullopt;
          }
          response.status = static_cast<CpResponse::Status>(status);
          break;
        }
        case protozero::tag_and_type(response_solution, protozero::pbf_wire_type::length_delimited):
          for (const std::int64_t value : message.get_packed_int64()) {
            response.values.push_back(value);
          }
          break;
        case protozero::tag_and_type(response_bound, protozero::pbf_wire_type::fixed64):
          response.bound = message.get_double();
          break;
        case protozero::tag_and_type(response_text, protozero::pbf_wire_type::length_delimited):
          response.text = message.get_string();
          break;
        default:
          message.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return response;
}

}  // namespace ripeline::optimise
