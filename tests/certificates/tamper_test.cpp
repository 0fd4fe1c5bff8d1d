// Tests changed certificates: each is rejected by the step that checks the changed part.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "certificates/certificate.h"
#include "certificates/recheck.h"
#include "certificates/sha256.h"
#include "spec/parse.h"
#include "tests/support/cvc5.h"
#include "tests/support/programs.h"

namespace ripeline::certificates {
namespace {

using Json = nlohmann::json;
using testing_support::chain_text;
using testing_support::group_text;
using testing_support::order_via;
using testing_support::v_text;

Files certificate(const std::string& text, const spec::ElaborateOptions& options = {}) {
  const spec::Source source{"test.ripe", text};
  const auto program = spec::compile(source, options);
  return certificate_of(source, options, program.value(), verify::verify(program.value()), "0");
}

Files of_every_depth(const std::string& text) {
  const spec::Source source{"test.ripe", text};
  const auto tree = spec::parse(source);
  const auto found = verify::verify_every_depth(tree.value(), source, {});
  return certificate_of(source, tree.value(), {}, found.value(), "0", 50'000'000);
}

Files from_file() {
  spec::ElaborateOptions options;
  options.read_file = [](const std::string&) {
    return std::string("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  };
  return certificate(
      "pipeline p {\n  microbatches 2;\n  stages 2;\n  place s on s;\n"
      "  op F forward { needs F at prev; }\n  op B backward { needs F at here, B at next; }\n"
      "  order o from csv \"o.csv\";\n  dispatch in order o;\n}\n",
      options);
}

const Files& base(const std::string& name) {
  static const std::map<std::string, Files> kBases = {
      {"counters", certificate(chain_text(3, "ready by bf"))},
      {"cuts", certificate(chain_text(3, "in order one_f_one_b"))},
      {"graph", certificate(chain_text(2, "in order one_f_one_b", "3"))},
      {"stuck", certificate(v_text(2, false))},
      {"cycle", certificate(chain_text(2, "in order waits", "2"))},
      {"slots", certificate(order_via("slots 4", "5"))},
      {"fifo", certificate(order_via("fifo 1", "4"))},
      {"file", from_file()},
      {"group", certificate(group_text(3, "vote", "via inbox", "any",
                                       "  channel inbox per stage { slots 3; }\n"))},
      {"members", certificate(group_text(3, "intersection", "via slots 2", "1 .. 3"))},
      {"parts", certificate(group_text(2, "none", ""))},
      {"depth", of_every_depth(chain_text(2, "ready by bf"))},
  };
  return kBases.at(name);
}

// The only file whose path contains `part`.
std::string path_of(const Files& files, const std::string& part) {
  std::string found;
  for (const auto& [path, content] : files) {
    if (path.find(part) == std::string::npos) continue;
    EXPECT_TRUE(found.empty()) << part << " is in " << found << " and " << path;
    found = path;
  }
  EXPECT_FALSE(found.empty()) << part;
  return found;
}

void replace(Files& files, const std::string& part, const std::string& from,
             const std::string& to) {
  std::string& text = files.at(path_of(files, part));
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " is not in\n" << text;
  text.replace(at, from.size(), to);
}

void edit(Files& files, const std::function<void(Json&)>& change) {
  Json manifest = Json::parse(files.at(kManifest));
  change(manifest);
  files.at(kManifest) = manifest.dump(1) + "\n";
}

// Updates the hashes, as an attacker would who knows that files are hashed.
void rehash(Files& files) {
  edit(files, [&](Json& manifest) {
    Json hashes = Json::object();
    for (const auto& [path, content] : files) {
      if (path != kManifest) hashes[path] = sha256(content);
    }
    manifest["files"] = hashes;
  });
}

using Change = std::function<void(Files&)>;

Change swapped(const std::string& part, const std::string& from, const std::string& to) {
  return [=](Files& files) { replace(files, part, from, to); };
}
Change removed(const std::string& part) {
  return [=](Files& files) { files.erase(path_of(files, part)); };
}
Change appended(const std::string& part, const std::string& text) {
  return [=](Files& files) { files.at(path_of(files, part)) += text; };
}
Change manifest(const std::function<void(Json&)>& change) {
  return [=](Files& files) { edit(files, change); };
}
Change both(const Change& first, const Change& second) {
  return [=](Files& files) {
    first(files);
    second(files);
  };
}
Change hashed(const Change& change) { return both(change, rehash); }

struct Row {
  std::string what;
  std::string base;
  Change change;
  std::string step;
  std::string says;
};

constexpr const char* kCapacity = "capacity ranks - s";

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      // Changes of the program.
      {"a capacity", "counters", swapped("program", kCapacity, "capacity 9"), "files", "hash"},
      {"a capacity, hashed", "counters", hashed(swapped("program", kCapacity, "capacity 9")),
       "program", "its hash is"},
      {"a capacity, with the new program's hash", "counters", hashed([](Files& files) {
         replace(files, "program", kCapacity, "capacity 9");
         std::string text = files.at("program.ripe");
         const auto program = spec::compile({"x", text});
         edit(files,
              [&](Json& m) { m["program"]["hash"] = spec::hash_text(program.value().hash); });
       }),
       "obligations", "invariant.smt2"},
      {"a layout that is not canonical", "counters",
       hashed(swapped("program", "param ranks = 3", "param ranks  = 3")), "program", "canonical"},
      {"a program in error", "counters",
       hashed(swapped("program", "needs F at here", "needs G at here")), "program", "in error"},
      {"no program any more", "counters", hashed(swapped("program", "pipeline", "pipe")), "program",
       "does not parse"},
      {"another program's hash", "counters",
       manifest([](Json& m) { m["program"]["hash"] = "0123456789abcdef"; }), "program",
       "the certificate's 0123456789abcdef"},
      {"a param", "counters", manifest([](Json& m) { m["program"]["defines"]["ranks"] = 2; }),
       "program", "its hash is"},
      {"the dispatch", "counters",
       manifest([](Json& m) { m["program"]["dispatch"] = "ready by b_first"; }), "program",
       "its hash is"},
      {"the range", "counters", manifest([](Json& m) { m["program"]["microbatches"] = "1 .. 4"; }),
       "obligations", "program microbatches"},
      // Changes of queries.
      {"a capacity in a question", "counters",
       swapped("broken-by-0F", "|done 0B| 3)", "|done 0B| 4)"), "files", "broken-by-0F"},
      {"a capacity in a question, hashed", "counters",
       hashed(swapped("broken-by-0F", "|done 0B| 3)", "|done 0B| 4)")), "obligations",
       "broken-by-0F"},
      {"an assertion weakened to true", "counters",
       hashed(swapped("a-stuck-state", "(<= 1 |microbatches|)", "true")), "obligations",
       "a-stuck-state"},
      {"an assertion made false", "cuts",
       hashed(swapped("a-stuck-cut", "(check-sat)", "(assert false)\n(check-sat)")), "obligations",
       "a-stuck-cut"},
      {"a question dropped", "counters", removed("a-stuck-state"), "files", "missing"},
      {"a question dropped, hashed", "counters", hashed(removed("a-stuck-state")), "obligations",
       "missing"},
      {"a question dropped, and its entry", "counters",
       hashed(both(removed("a-stuck-state"), manifest([](Json& m) {
                     for (std::size_t i = 0; i < m["queries"].size(); ++i) {
                       if (m["queries"][i]["name"] == "deadlock: a stuck state")
                         m["queries"].erase(i);
                     }
                   }))),
       "obligations", "missing"},
      {"an entry dropped", "counters", manifest([](Json& m) { m["queries"].erase(0); }),
       "obligations", "`queries"},
      {"an expected answer", "counters",
       manifest([](Json& m) { m["queries"][3]["expected"] = "sat"; }), "obligations",
       "`queries 3 expected`"},
      {"garbage behind a question", "counters", appended("a-stuck-state", "(exit)\n"), "files",
       "hash"},
      {"garbage behind a question, hashed", "counters",
       hashed(appended("a-stuck-state", "(exit)\n")), "obligations", "a-stuck-state"},
      {"a fact dropped from the invariant", "counters",
       hashed(swapped("invariant.txt", "0 <= 0F\n", "")), "obligations", "invariant.txt"},
      // Changes of the manifest.
      {"the verdict", "counters", manifest([](Json& m) { m["verdict"] = "refuted"; }),
       "obligations", "`verdict`"},
      {"the verdict, of a refuted one", "stuck", manifest([](Json& m) { m["verdict"] = "proved"; }),
       "obligations", "`verdict`"},
      {"a claim, of a refuted one", "stuck", manifest([](Json& m) {
         m["verdict"] = "proved";
         m["obligations"][0]["verdict"] = "proved";
       }),
       "obligations", "a-stuck-state"},
      {"a claim dropped", "counters", manifest([](Json& m) { m["obligations"].erase(4); }),
       "manifest", "five obligations"},
      {"a claim twice", "counters",
       manifest([](Json& m) { m["obligations"][4] = m["obligations"][0]; }), "manifest",
       "five obligations"},
      {"a method", "counters",
       manifest([](Json& m) { m["obligations"][0]["method"] = "structure"; }), "obligations", ""},
      {"a peak", "counters",
       manifest([](Json& m) { m["obligations"][3]["peak"]["activation"][0] = 1; }), "obligations",
       "a-peak-exceeded"},
      {"a peak dropped", "counters", manifest([](Json& m) { m["obligations"][3].erase("peak"); }),
       "obligations", "peaks"},
      {"an assumption dropped", "counters", manifest([](Json& m) { m["assumptions"].erase(0); }),
       "obligations", "`assumptions"},
      {"a field that nobody knows", "counters", manifest([](Json& m) { m["trusted"] = true; }),
       "obligations", "`trusted`"},
      {"garbage behind the manifest", "counters", appended(kManifest, "}"), "manifest",
       "such an object"},
      {"a manifest that is no object", "counters", [](Files& files) { files.at(kManifest) = "[]"; },
       "manifest", "such an object"},
      // Changes of the list of files.
      {"an extra file", "counters", [](Files& files) { files["notes.txt"] = "hello"; }, "files",
       "does not list"},
      {"an extra file, listed", "counters", hashed([](Files& files) { files["notes.txt"] = "x"; }),
       "obligations", "needs this file"},
      {"no program", "counters", removed("program.ripe"), "files", "missing"},
      {"no program, hashed", "counters", hashed(removed("program.ripe")), "program", "missing"},
      {"no list of files", "counters", manifest([](Json& m) { m.erase("files"); }), "files",
       "lists no files"},
      // Changes of runs.
      {"an event dropped", "stuck",
       [](Files& files) {
         Json run = Json::parse(files.at("runs/deadlock.json"));
         run["obligations"][0]["counterexample"]["events"].erase(0);
         files.at("runs/deadlock.json") = run.dump(1) + "\n";
       },
       "files", "hash"},
      {"an event dropped, hashed", "stuck", hashed([](Files& files) {
         Json run = Json::parse(files.at("runs/deadlock.json"));
         run["obligations"][0]["counterexample"]["events"].erase(0);
         files.at("runs/deadlock.json") = run.dump(1) + "\n";
       }),
       "runs", "cannot happen then"},
      {"the end of a run dropped", "stuck", hashed([](Files& files) {
         Json run = Json::parse(files.at("runs/deadlock.json"));
         Json& events = run["obligations"][0]["counterexample"]["events"];
         events.erase(events.size() - 1);
         files.at("runs/deadlock.json") = run.dump(1) + "\n";
       }),
       "runs", "does not deadlock"},
      {"no run at all", "stuck", hashed(removed("runs/deadlock")), "obligations", "missing"},
      {"an event of another program", "stuck",
       hashed(swapped("runs/deadlock", "\"0F0\"", "\"9F0\"")), "runs", "no event"},
      {"the microbatches of a run", "stuck",
       hashed(swapped("runs/deadlock", "\"microbatches\": 4", "\"microbatches\": 5")), "runs",
       "another count"},
      {"the microbatches of a claim", "stuck",
       manifest([](Json& m) { m["obligations"][0]["microbatches"] = 5; }), "obligations",
       "`runs 0 microbatches`"},
      {"the microbatches, everywhere", "stuck",
       hashed(both(swapped("runs/deadlock", "\"microbatches\": 4", "\"microbatches\": 3"),
                   manifest([](Json& m) {
                     m["obligations"][0]["microbatches"] = 3;
                     m["runs"][0]["microbatches"] = 3;
                   }))),
       "runs", "cannot happen then"},
      {"garbage behind a run", "stuck", hashed(appended("runs/deadlock", "]")), "runs",
       "not a run"},
      // Changes of graphs.
      {"a pair swapped in the order", "graph",
       hashed([](Files& files) { replace(files, "graphs/", "order 0F0 0F1", "order 0F1 0F0"); }),
       "graphs", "0F1 is in the order before 0F0"},
      {"a task missing in the order", "graph", hashed(swapped("graphs/", "order 0F0", "order")),
       "graphs", "0F0 is not in the order"},
      {"a task twice in the order", "graph",
       hashed(swapped("graphs/", "order 0F0", "order 0F0 0F0")), "graphs", "twice"},
      {"an edge dropped", "graph", hashed(swapped("graphs/", "need 0F0 0B0\n", "")), "obligations",
       "graphs/"},
      {"a pair swapped in a rank", "graph",
       hashed(swapped("graphs/", "rank 0F0 0F1", "rank 0F1 0F0")), "obligations", "graphs/"},
      {"garbage behind a graph", "graph", hashed(appended("graphs/", "x\n")), "obligations",
       "graphs/"},
      {"a need behind a graph", "slots", hashed(appended("graphs/", "need 0F0 0B0\n")),
       "obligations", "graphs/"},
      {"a task behind a graph", "graph", hashed(appended("graphs/", "tasks 9F0\n")), "obligations",
       "graphs/"},
      {"a rank behind a graph", "graph", hashed(appended("graphs/", "rank 0F0 0F1\n")),
       "obligations", "graphs/"},
      {"slots behind a graph", "slots", hashed(appended("graphs/", "slots 9 0F0 1F0\n")),
       "obligations", "graphs/"},
      {"a second order behind a graph", "graph", hashed(appended("graphs/", "order 0F0\n")),
       "graphs", "not understood: order"},
      {"a cut cycle", "cycle", hashed(swapped("graphs/", "\ncycle 0B0", "\ncycle")), "graphs",
       "the cycle"},
      {"a cycle along no edge", "cycle",
       hashed([](Files& files) { replace(files, "graphs/", "\ncycle 0B0", "\ncycle 1B0 0B0"); }),
       "graphs", "which is no edge"},
      {"no cycle", "cycle", hashed([](Files& files) {
         std::string& text = files.at(path_of(files, "graphs/"));
         text.erase(text.find("cycle "));
       }),
       "graphs", "the cycle is missing"},
      {"a slot more", "slots", hashed(swapped("graphs/", "\nslots 4 ", "\nslots 5 ")),
       "obligations", "graphs/"},
      {"a link dropped", "slots", hashed([](Files& files) {
         std::string& text = files.at(path_of(files, "graphs/"));
         const std::size_t at = text.find("slots ");
         text.erase(at, text.find('\n', at) + 1 - at);
       }),
       "obligations", "graphs/"},
      {"a message dropped", "fifo", hashed(swapped("graphs/", "\nfifo 0F0 1F0 ", "\nfifo ")),
       "obligations", "graphs/"},
      {"slots in the program", "slots", hashed([](Files& files) {
         replace(files, "program", "via slots 4", "via slots 2");
         const auto program = spec::compile({"x", files.at("program.ripe")});
         edit(files,
              [&](Json& m) { m["program"]["hash"] = spec::hash_text(program.value().hash); });
       }),
       "obligations", "graphs/"},
      // Changes of files with orders.
      {"another order in the file", "file", swapped("order.csv", "0F0,0F1", "0F1,0F0"), "files",
       "order.csv: its hash"},
      {"another order in the file, hashed", "file",
       hashed(swapped("order.csv", "0F0,0F1", "0F1,0F0")), "program", "its hash is"},
      {"a wrong file, hashed", "file", hashed(swapped("order.csv", "0F0", "0G0")), "program",
       "in error"},
      {"no file", "file", hashed(removed("order.csv")), "program", "order.csv is missing"},
      {"a file that is not read", "graph",
       hashed([](Files& files) { files["order.csv"] = "0F0\n"; }), "obligations",
       "needs this file"},
      // Changes of certificates of groups.
      {"how members agree", "group", hashed(swapped("program", "agree by vote", "agree by leader")),
       "program", "its hash is"},
      {"the question whether members part dropped", "group", hashed(removed("two-members-part")),
       "obligations", "missing"},
      {"the question whether slots suffice dropped", "group",
       hashed(removed("inbox-of-stage-1-is-too-small")), "obligations", "missing"},
      {"a count that is visited", "members",
       manifest([](Json& m) { m["states"].erase(m["states"].size() - 1); }), "obligations",
       "`states"},
      {"fewer members to visit", "members",
       manifest([](Json& m) { m["states"][0]["members"] = 1; }), "obligations",
       "`states 0 members`"},
      {"slots that members need", "members", hashed([](Files& files) {
         replace(files, "program", "via slots 2", "via slots 1");
         const auto program = spec::compile({"x", files.at("program.ripe")});
         edit(files,
              [&](Json& m) { m["program"]["hash"] = spec::hash_text(program.value().hash); });
       }),
       "obligations", "queries/"},
      {"the members of a run", "parts",
       hashed(swapped("runs/collectives", "\"members\": 2", "\"members\": 3")), "runs",
       "another number of members"},
      {"the member of an event", "parts",
       hashed(swapped("runs/collectives", "\"member\": 1", "\"member\": 0")), "runs",
       "cannot happen then"},
      {"the end of a run where members part", "parts", hashed([](Files& files) {
         Json run = Json::parse(files.at("runs/collectives.json"));
         Json& events = run["obligations"][0]["counterexample"]["events"];
         events.erase(events.size() - 1);
         files.at("runs/collectives.json") = run.dump(1) + "\n";
       }),
       "runs", "all members issue the same"},
      // Changes of certificates for every number of ranks.
      {"an answer", "depth", manifest([](Json& m) {
         std::string answers = m["every_depth"]["answers"];
         answers.back() = 'o';
         m["every_depth"]["answers"] = answers;
       }),
       "obligations", ""},
      {"an answer more", "depth", manifest([](Json& m) {
         m["every_depth"]["answers"] = m["every_depth"]["answers"].get<std::string>() + "u";
       }),
       "obligations", "`every_depth answers`"},
      {"no answers", "depth", manifest([](Json& m) { m["every_depth"]["answers"] = ""; }),
       "obligations", "needs this file"},
      {"from fewer ranks on", "depth",
       manifest([](Json& m) { m["every_depth"]["least_ranks"] = 0; }), "obligations",
       "`every_depth least_ranks`"},
      {"one number of ranks after all", "depth",
       manifest([](Json& m) { m["every_depth"] = nullptr; }), "program", "its hash is"},
      {"a number of ranks", "depth",
       manifest([](Json& m) { m["program"]["defines"]["ranks"] = 2; }), "manifest", "sets `ranks`"},
      {"a question dropped, of every depth", "depth", hashed(removed("depth-a-stuck-state")),
       "obligations", "missing"},
      {"a question weakened, of every depth", "depth",
       hashed(swapped("depth-a-stuck-state", "(check-sat)", "(assert false)\n(check-sat)")),
       "obligations", "a-stuck-state"},
      {"a capacity, of every depth", "depth", hashed(swapped("program", kCapacity, "capacity 9")),
       "program", "its hash is"},
      {"a peak, of every depth", "depth",
       manifest([](Json& m) { m["obligations"][3]["peak"]["activation"] = {1}; }), "obligations",
       "`obligations 3 peak`"},
      {"what is claimed of a graph", "cycle",
       manifest([](Json& m) { m["graphs"][0]["cycle"] = false; }), "obligations",
       "`graphs 0 cycle`"},
  };
  return kRows;
}

TEST(Tamper, the_certificates_as_they_were_written_are_accepted) {
  for (const char* name : {"counters", "cuts", "graph", "stuck", "cycle", "slots", "fifo", "file",
                           "group", "members", "parts", "depth"}) {
    Files files = base(name);
    EXPECT_EQ(recheck(files, testing_support::ask_cvc5).result, RecheckResult::accepted) << name;
    rehash(files);  // so the hashing in rows changes nothing else
    EXPECT_EQ(recheck(files, testing_support::ask_cvc5).result, RecheckResult::accepted) << name;
  }
}

TEST(Tamper, every_change_is_rejected_by_its_step) {
  EXPECT_GE(rows().size(), 50u);
  for (const Row& row : rows()) {
    Files files = base(row.base);
    row.change(files);
    ASSERT_NE(files, base(row.base)) << row.what;
    const RecheckReport report = recheck(files, testing_support::ask_cvc5);
    EXPECT_EQ(report.result, RecheckResult::rejected) << row.what;
    const RecheckStep& last = report.steps.back();
    EXPECT_EQ(last.name, row.step) << row.what << ": " << last.where << ": " << last.detail;
    const std::string said = last.where + ": " + last.detail;
    EXPECT_NE(said.find(row.says), std::string::npos) << row.what << ": " << said;
  }
}

TEST(Tamper, what_is_no_certificate_is_called_so) {
  EXPECT_EQ(recheck({}, testing_support::ask_cvc5).result, RecheckResult::no_input);
  Files files = base("counters");
  edit(files, [](Json& m) { m["schema"] = "ripeline.certificate/2"; });
  EXPECT_EQ(recheck(files, testing_support::ask_cvc5).result, RecheckResult::no_input);
}

}  // namespace
}  // namespace ripeline::certificates
