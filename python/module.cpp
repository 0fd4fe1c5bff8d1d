// The extension module `ripeline._ripeline`, on which the package's Python files are built.
//
// It binds the objects of this folder and computes nothing itself. Functions that read, judge, run
// or draw release Python's lock, and take it again to convert what they return. Those that may take
// long are long calls: Ctrl-C and an exception of their `progress` stop them.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <map>
#include <tuple>

#include "python/bound.h"
#include "python/checked.h"
#include "python/compared.h"
#include "python/drawing.h"
#include "python/number.h"
#include "python/optimised.h"
#include "python/output.h"
#include "python/path.h"
#include "python/program.h"
#include "python/recorded.h"
#include "python/simulated.h"
#include "python/verdict.h"
#include "python/worker_module.h"

namespace ripeline::python {
namespace {

using nb::literals::operator""_a;

using Text = std::optional<std::string>;

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

using Unlocked = nb::call_guard<WithoutLock>;

template <Program (*Make)(const std::string&, const Options&)>
Program made(const std::string& source, const std::vector<std::string>& defines,
             const std::string& dispatch, const Text& placement) {
  return long_call(nb::none(), [&](LongCall&) {
    return Make(source, {.defines = defines, .dispatch = dispatch, .placement = placement});
  });
}

Verdict verify(const Program& program, const Text& microbatches,
               const std::optional<std::int64_t>& steps, bool repairs, bool times, bool every_rank,
               const nb::object& progress) {
  return long_call(progress, [&](LongCall&) {
    return program.verify({.microbatches = microbatches,
                           .steps = steps,
                           .repairs = repairs,
                           .times = times,
                           .every_rank = every_rank});
  });
}

// Python takes and gives the parts of a Program's state in this order; files are bytes.
using State = std::tuple<std::string, std::string, bool, std::map<std::string, nb::bytes>,
                         std::vector<std::string>, std::string, std::vector<std::string>>;

State state_of(const Program& program) {
  const Program::State state = program.state();
  std::map<std::string, nb::bytes> files;
  for (const auto& [path, bytes] : state.files)
    files.emplace(path, nb::bytes(bytes.data(), bytes.size()));
  return {state.source.name, state.source.text, state.is_schedule, files,
          state.defines,     state.dispatch,    state.notes};
}

Program of_state(const State& parts) {
  const auto& [name, text, is_schedule, files, defines, dispatch, notes] = parts;
  Program::State state{.source = {.name = name, .text = text},
                       .is_schedule = is_schedule,
                       .files = {},
                       .defines = defines,
                       .dispatch = dispatch,
                       .notes = notes};
  for (const auto& [path, bytes] : files) {
    state.files[path] = std::string(static_cast<const char*>(bytes.data()), bytes.size());
  }
  const WithoutLock unlocked;
  return Program::of_state(state);
}

load::TimeOptions times_of(const Text& rank_costs, const std::string& profile,
                           const std::string& unit, const std::string& latency,
                           const std::string& bandwidth, const std::string& bytes,
                           const std::string& control, const std::string& jitter,
                           std::int64_t seed) {
  load::TimeOptions times{.unit = unit,
                          .rank_costs = rank_costs,
                          .profile = as_file(profile),
                          .jitter = jitter,
                          .latency = latency,
                          .control = control,
                          .bandwidth = bandwidth,
                          .bytes = bytes};
  check_integer("--seed", std::optional(seed), 0, std::numeric_limits<std::int64_t>::max());
  times.timing.seed = static_cast<std::uint64_t>(seed);
  return times;
}

Simulated simulate(const Program& program, const Text& microbatches, const Text& rank_costs,
                   const std::string& profile, const std::string& unit, const std::string& latency,
                   const std::string& bandwidth, const std::string& bytes,
                   const std::string& control, const std::string& jitter, std::int64_t seed) {
  return long_call(nb::none(), [&](LongCall&) {
    return program.simulate(microbatches, times_of(rank_costs, profile, unit, latency, bandwidth,
                                                   bytes, control, jitter, seed));
  });
}

std::string export_csv(const Program& program, const Text& microbatches, const std::string& form) {
  return long_call(nb::none(), [&](LongCall&) { return program.export_csv(microbatches, form); });
}

Compared compare(const std::vector<Program>& programs, const std::vector<std::string>& titles,
                 const Text& microbatches, std::int64_t seeds, const std::string& memory,
                 const Text& rank_costs, const std::string& profile, const std::string& unit,
                 const std::string& latency, const std::string& bandwidth, const std::string& bytes,
                 const std::string& control, const std::string& jitter, std::int64_t seed,
                 const nb::object& progress) {
  return long_call(progress, [&](LongCall&) {
    return Compared(programs, titles,
                    {.microbatches = microbatches,
                     .times = times_of(rank_costs, profile, unit, latency, bandwidth, bytes,
                                       control, jitter, seed),
                     .seeds = seeds,
                     .memory = memory});
  });
}

Checked check_csv(const std::string& path, const Text& placement, const Text& form,
                  std::optional<std::int64_t> ranks, std::optional<std::int64_t> stages,
                  const Text& microbatches, const Text& memory,
                  std::optional<std::int64_t> stage_memory, const Text& layout, const Text& kernels,
                  bool reduce, bool layouts) {
  return long_call(nb::none(), [&](LongCall&) {
    return Checked(path, {.placement = placement,
                          .form = form,
                          .ranks = ranks,
                          .stages = stages,
                          .microbatches = microbatches,
                          .memory = memory,
                          .stage_memory = stage_memory,
                          .layout = layout,
                          .kernels = kernels,
                          .reduce = reduce,
                          .layouts = layouts});
  });
}

// Runs a search as a long call, whose progress has the best order so far.
template <class Search>
auto long_search(const nb::object& progress, const Search& search) {
  return long_call(progress, [&](LongCall& running) {
    return search([&running](std::optional<double> best, std::optional<double> bound) {
      running.found(best, bound);
    });
  });
}

Optimised optimise_program(const Program& program, const Searching& searching,
                           const nb::object& progress) {
  return long_search(progress, [&](const Finds& finds) {
    return Optimised::of_program(program, searching, finds);
  });
}

Optimised optimise_model(const Searching& searching, const nb::object& progress) {
  return long_search(progress,
                     [&](const Finds& finds) { return Optimised::of_model(searching, finds); });
}

Simulated run_of(const Optimised& optimised) {
  return long_call(nb::none(), [&](LongCall&) { return optimised.run(); });
}

Curve memory_curve(const Searching& searching, const nb::object& progress) {
  return long_search(progress, [&](const Finds& finds) { return Curve(searching, finds); });
}

Fixed fixed(const Checked& checked) {
  return long_call(nb::none(), [&](LongCall&) { return checked.fixed(); });
}

Recorded read_trace(const std::string& path, const Text& steps) { return {path, steps}; }

std::string text_of(const Drawing& drawing, int width, const std::string& begin,
                    const std::string& end) {
  return drawing.text(width, {.begin = begin, .end = end});
}
std::string svg_of(const Drawing& drawing, std::optional<int> width, const std::string& begin,
                   const std::string& end) {
  return drawing.svg(width, {.begin = begin, .end = end});
}
std::string html_of(const Drawing& drawing, const std::string& begin, const std::string& end) {
  return drawing.html({.begin = begin, .end = end});
}

void bind_program(nb::module_& m) {
  nb::class_<Program> program(m, "Program");
  const auto add = [&](const char* name, auto make) {
    program.def_static(name, make, "source"_a, "defines"_a, "dispatch"_a, "placement"_a.none());
  };
  add("of_name", &made<&Program::of_name>);
  add("of_file", &made<&Program::of_file>);
  add("of_text", &made<&Program::of_text>);
  add("of_schedule", &made<&Program::of_schedule>);
  program.def_static("of_megatron", &Program::of_megatron, "options"_a, Unlocked())
      .def_static("of_state", &of_state, "state"_a)
      .def("state", &state_of)
      .def("forward_only", &Program::forward_only, Unlocked())
      .def("sequential", &Program::sequential, "kinds"_a, Unlocked());
  program.def_prop_ro("source_name", &Program::source_name)
      .def_prop_ro("text", &Program::text)
      .def_prop_ro("name", &Program::name)
      .def_prop_ro("dispatch", &Program::dispatch)
      .def_prop_ro("params", &Program::params)
      .def_prop_ro("hash", &Program::hash)
      .def_prop_ro("hash_text", &Program::hash_text)
      .def_prop_ro("ranks", &Program::ranks)
      .def_prop_ro("kinds", &Program::kinds)
      .def_prop_ro("placement", &Program::placement)
      .def_prop_ro("is_chain", &Program::is_chain)
      .def_prop_ro("is_committed", &Program::is_committed)
      .def_prop_ro("microbatches", &Program::microbatches)
      .def_prop_ro("notes", &Program::notes)
      .def("warnings_text", &Program::warnings_text, Unlocked())
      .def("with_text", &Program::with_text, "text"_a, Unlocked())
      .def("verify", &verify, "microbatches"_a.none(), "steps"_a.none(), "repairs"_a, "times"_a,
           "every_rank"_a, "progress"_a.none())
      .def("simulate", &simulate, "microbatches"_a.none(), "rank_costs"_a.none(), "profile"_a,
           "unit"_a, "latency"_a, "bandwidth"_a, "bytes"_a, "control"_a, "jitter"_a, "seed"_a)
      .def("export_csv", &export_csv, "microbatches"_a.none(), "form"_a);
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
             const std::string& unit, const std::string& latency, const std::string& bandwidth,
             const std::string& bytes, const std::string& control, const std::string& jitter,
             std::int64_t seed) {
            searching.times = times_of(rank_costs, profile, unit, latency, bandwidth, bytes,
                                       control, jitter, seed);
          },
          "rank_costs"_a.none(), "profile"_a, "unit"_a, "latency"_a, "bandwidth"_a, "bytes"_a,
          "control"_a, "jitter"_a, "seed"_a);
  nb::class_<Optimised>(m, "Optimised")
      .def_prop_ro("text", &Optimised::text)
      .def_prop_ro("json", &Optimised::json)
      .def_prop_ro("notes", &Optimised::notes)
      .def("program", &Optimised::program, Unlocked())
      .def("order", &Optimised::order, Unlocked())
      .def("run", &run_of)
      .def("what_binds", &Optimised::what_binds);
  nb::class_<Curve>(m, "Curve")
      .def("text", &Curve::text)
      .def("json", &Curve::json)
      .def("svg", &Curve::svg, "width"_a.none(), Unlocked())
      .def_prop_ro("notes", &Curve::notes);
  m.def("optimise_program", &optimise_program, "program"_a, "searching"_a, "progress"_a.none());
  m.def("optimise_model", &optimise_model, "searching"_a, "progress"_a.none());
  m.def("memory_curve", &memory_curve, "searching"_a, "progress"_a.none());
}

void bind_results(nb::module_& m) {
  nb::class_<Drawing>(m, "Drawing")
      .def("text", &text_of, "width"_a, "begin"_a, "end"_a, Unlocked())
      .def("svg", &svg_of, "width"_a.none(), "begin"_a, "end"_a, Unlocked())
      .def("html", &html_of, "begin"_a, "end"_a, Unlocked());
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
  nb::class_<Recorded>(m, "Recorded")
      .def_prop_ro("notes", &Recorded::notes)
      .def("drawing", &Recorded::drawing, Unlocked())
      .def("explain", &Recorded::explain, "task"_a, Unlocked());
  m.def("read_trace", &read_trace, "path"_a, "steps"_a.none(), Unlocked());
  nb::class_<Compared>(m, "Compared")
      .def_prop_ro("text", &Compared::text)
      .def("json", &Compared::json, Unlocked())
      .def("svg", &Compared::svg, "width"_a.none(), Unlocked())
      .def("html", &Compared::html, Unlocked())
      .def_prop_ro("notes", &Compared::notes);
  nb::class_<Checked>(m, "Checked")
      .def_prop_ro("outcome", &Checked::outcome)
      .def("text", &Checked::text, Unlocked())
      .def("json", &Checked::json, Unlocked())
      .def("fixed", &fixed);
  nb::class_<Fixed>(m, "Fixed").def_ro("csv", &Fixed::csv).def_ro("changes", &Fixed::changes);
  m.def("check_csv", &check_csv, "path"_a, "placement"_a.none(), "form"_a.none(), "ranks"_a.none(),
        "stages"_a.none(), "microbatches"_a.none(), "memory"_a.none(), "stage_memory"_a.none(),
        "layout"_a.none(), "kernels"_a.none(), "reduce"_a, "layouts"_a);
  m.def("compare", &compare, "programs"_a, "titles"_a, "microbatches"_a.none(), "seeds"_a,
        "memory"_a, "rank_costs"_a.none(), "profile"_a, "unit"_a, "latency"_a, "bandwidth"_a,
        "bytes"_a, "control"_a, "jitter"_a, "seed"_a, "progress"_a.none());
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
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&WithoutLock::end));
  nb::module_::import_("os").attr("register_at_fork")(
      nb::arg("after_in_child") = nb::cpp_function(&WithoutLock::forget_other_threads));
  bind_program(m);
  bind_results(m);
  bind_searches(m);
  bind_worker(m);
}
