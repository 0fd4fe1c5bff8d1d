// The extension module `ripeline._ripeline`, on which the package's Python files are built.
//
// It binds the objects of this folder and computes nothing itself. Functions that read, judge, run
// or draw release Python's lock, and take it again to convert what they return.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/checked.h"
#include "python/compared.h"
#include "python/drawing.h"
#include "python/failure.h"
#include "python/optimised.h"
#include "python/output.h"
#include "python/program.h"
#include "python/simulated.h"
#include "python/verdict.h"

namespace ripeline::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

using Text = std::optional<std::string>;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

// Raises `ripeline.Error` for a Failure. Python calls it with its lock.
void raise(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    const nb::object type = nb::module_::import_("ripeline._errors").attr("Error");
    const nb::object error = type(failure.what(), failure.errors_json());
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

template <Program (*Make)(const std::string&, const Options&)>
Program made(const std::string& source, const std::vector<std::string>& defines,
             const std::string& dispatch, const Text& placement) {
  return Make(source, {.defines = defines, .dispatch = dispatch, .placement = placement});
}

Verdict verify(const Program& program, const Text& microbatches,
               const std::optional<std::uint64_t>& steps, bool repairs, bool times) {
  return program.verify(
      {.microbatches = microbatches, .steps = steps, .repairs = repairs, .times = times});
}

load::TimeOptions times_of(const Text& rank_costs, const std::string& profile,
                           const std::string& unit, const std::string& latency,
                           const std::string& control, const std::string& jitter,
                           std::uint64_t seed) {
  load::TimeOptions times{.unit = unit,
                          .rank_costs = rank_costs,
                          .profile = profile,
                          .jitter = jitter,
                          .latency = latency,
                          .control = control};
  times.timing.seed = seed;
  return times;
}

Simulated simulate(const Program& program, const Text& microbatches, const Text& rank_costs,
                   const std::string& profile, const std::string& unit, const std::string& latency,
                   const std::string& control, const std::string& jitter, std::uint64_t seed) {
  return program.simulate(microbatches,
                          times_of(rank_costs, profile, unit, latency, control, jitter, seed));
}

Compared compare(const std::vector<Program>& programs, const std::vector<std::string>& titles,
                 const Text& microbatches, int seeds, const std::string& memory,
                 const Text& rank_costs, const std::string& profile, const std::string& unit,
                 const std::string& latency, const std::string& control, const std::string& jitter,
                 std::uint64_t seed) {
  return {programs,
          titles,
          {.microbatches = microbatches,
           .times = times_of(rank_costs, profile, unit, latency, control, jitter, seed),
           .seeds = seeds,
           .memory = memory}};
}

Checked check_csv(const std::string& path, const Text& placement, const Text& form,
                  std::optional<int> ranks, std::optional<int> stages, const Text& microbatches,
                  const Text& memory, std::optional<std::int64_t> stage_memory) {
  return {path,
          {.placement = placement,
           .form = form,
           .ranks = ranks,
           .stages = stages,
           .microbatches = microbatches,
           .memory = memory,
           .stage_memory = stage_memory}};
}

Optimised optimise_program(const Program& program, const Searching& searching) {
  return Optimised::of_program(program, searching, {});
}

Optimised optimise_model(const Searching& searching) { return Optimised::of_model(searching, {}); }

Curve memory_curve(const Searching& searching) { return {searching, {}}; }

void bind_program(nb::module_& m) {
  nb::class_<Program> program(m, "Program");
  const auto add = [&](const char* name, auto make) {
    program.def_static(name, make, "source"_a, "defines"_a, "dispatch"_a, "placement"_a.none(),
                       Unlocked());
  };
  add("of_name", &made<&Program::of_name>);
  add("of_file", &made<&Program::of_file>);
  add("of_text", &made<&Program::of_text>);
  add("of_schedule", &made<&Program::of_schedule>);
  program.def_prop_ro("source_name", &Program::source_name)
      .def_prop_ro("text", &Program::text)
      .def_prop_ro("name", &Program::name)
      .def_prop_ro("dispatch", &Program::dispatch)
      .def_prop_ro("params", &Program::params)
      .def_prop_ro("hash", &Program::hash)
      .def_prop_ro("hash_text", &Program::hash_text)
      .def_prop_ro("ranks", &Program::ranks)
      .def_prop_ro("microbatches", &Program::microbatches)
      .def_prop_ro("notes", &Program::notes)
      .def("warnings_text", &Program::warnings_text, Unlocked())
      .def("with_text", &Program::with_text, "text"_a, Unlocked())
      .def("verify", &verify, "microbatches"_a.none(), "steps"_a.none(), "repairs"_a, "times"_a,
           Unlocked())
      .def("simulate", &simulate, "microbatches"_a.none(), "rank_costs"_a.none(), "profile"_a,
           "unit"_a, "latency"_a, "control"_a, "jitter"_a, "seed"_a, Unlocked())
      .def("export_csv", &Program::export_csv, "microbatches"_a.none(), "form"_a, Unlocked());
}

// The arguments of a search are attributes, since a function with all of them is hard to call.
void bind_searches(nb::module_& m) {
  nb::class_<Searching>(m, "Searching")
      .def(nb::init<>())
      .def_rw("microbatches", &Searching::microbatches, nb::arg().none())
      .def_rw("objective", &Searching::objective)
      .def_rw("seconds", &Searching::seconds)
      .def_rw("solver", &Searching::solver)
      .def_rw("threads", &Searching::threads)
      .def_rw("seeds", &Searching::seeds, nb::arg().none())
      .def_rw("quantile", &Searching::quantile, nb::arg().none())
      .def_rw("every_count", &Searching::every_count)
      .def_rw("ranks", &Searching::ranks, nb::arg().none())
      .def_rw("costs", &Searching::costs)
      .def_rw("memory", &Searching::memory)
      .def_rw("activation", &Searching::activation)
      .def_rw("placement", &Searching::placement, nb::arg().none())
      .def_rw("chunks", &Searching::chunks, nb::arg().none())
      .def(
          "set_times",
          [](Searching& searching, const Text& rank_costs, const std::string& profile,
             const std::string& unit, const std::string& latency, const std::string& control,
             const std::string& jitter, std::uint64_t seed) {
            searching.times = times_of(rank_costs, profile, unit, latency, control, jitter, seed);
          },
          "rank_costs"_a.none(), "profile"_a, "unit"_a, "latency"_a, "control"_a, "jitter"_a,
          "seed"_a);
  nb::class_<Optimised>(m, "Optimised")
      .def_prop_ro("text", &Optimised::text)
      .def_prop_ro("json", &Optimised::json)
      .def_prop_ro("notes", &Optimised::notes)
      .def("program", &Optimised::program, Unlocked())
      .def("order", &Optimised::order, Unlocked())
      .def("run", &Optimised::run, Unlocked())
      .def("what_binds", &Optimised::what_binds);
  nb::class_<Curve>(m, "Curve")
      .def("text", &Curve::text)
      .def("json", &Curve::json)
      .def("svg", &Curve::svg, "width"_a.none(), Unlocked())
      .def_prop_ro("notes", &Curve::notes);
  m.def("optimise_program", &optimise_program, "program"_a, "searching"_a, Unlocked());
  m.def("optimise_model", &optimise_model, "searching"_a, Unlocked());
  m.def("memory_curve", &memory_curve, "searching"_a, Unlocked());
}

void bind_results(nb::module_& m) {
  nb::class_<Drawing>(m, "Drawing")
      .def("text", &Drawing::text, "width"_a, Unlocked())
      .def("svg", &Drawing::svg, "width"_a.none(), Unlocked())
      .def("html", &Drawing::html, Unlocked());
  nb::class_<Verdict>(m, "Verdict")
      .def_prop_ro("outcome", &Verdict::outcome)
      .def("text", &Verdict::text, Unlocked())
      .def("json", &Verdict::json, Unlocked())
      .def("repaired_texts", &Verdict::repaired_texts)
      .def("drawn_run", &Verdict::drawn_run, Unlocked());
  nb::class_<Simulated>(m, "Simulated")
      .def("text", &Simulated::text, Unlocked())
      .def("json", &Simulated::json, Unlocked())
      .def("csv", &Simulated::csv, Unlocked())
      .def_prop_ro("notes", &Simulated::notes)
      .def("drawing", &Simulated::drawing, Unlocked())
      .def("explain", &Simulated::explain, "task"_a, Unlocked())
      .def("write_trace", &Simulated::write_trace, "path"_a, Unlocked());
  nb::class_<Compared>(m, "Compared")
      .def_prop_ro("text", &Compared::text)
      .def("json", &Compared::json, Unlocked())
      .def("svg", &Compared::svg, "width"_a.none(), Unlocked())
      .def("html", &Compared::html, Unlocked())
      .def_prop_ro("notes", &Compared::notes);
  nb::class_<Checked>(m, "Checked")
      .def_prop_ro("outcome", &Checked::outcome)
      .def("text", &Checked::text, Unlocked())
      .def("json", &Checked::json, Unlocked());
  m.def("check_csv", &check_csv, "path"_a, "placement"_a.none(), "form"_a.none(), "ranks"_a.none(),
        "stages"_a.none(), "microbatches"_a.none(), "memory"_a.none(), "stage_memory"_a.none(),
        Unlocked());
  m.def("compare", &compare, "programs"_a, "titles"_a, "microbatches"_a.none(), "seeds"_a,
        "memory"_a, "rank_costs"_a.none(), "profile"_a, "unit"_a, "latency"_a, "control"_a,
        "jitter"_a, "seed"_a, Unlocked());
  m.def("write_text", &write_text, "path"_a, "text"_a, Unlocked());
  m.def("write_pdf", &write_pdf, "path"_a, "svg"_a, Unlocked());
}

}  // namespace
}  // namespace ripeline::python

NB_MODULE(_ripeline, m) {
  using namespace ripeline::python;
  m.doc() = "The objects on which the Python files of ripeline are built; no interface for users.";
  m.attr("version") = RIPELINE_VERSION;
  nb::register_exception_translator(raise);
  bind_program(m);
  bind_results(m);
  bind_searches(m);
}
