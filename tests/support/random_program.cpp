#include "tests/support/random_program.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ripeline::testing_support {
namespace {

// Graphs of stages that are not chains.
struct Graph {
  const char* stages;
  const char* edges;
  int count;  // the number of stages
};
constexpr Graph kGraphs[] = {
    {"left 1, right 1, end 1", "left -> end, right -> end", 3},
    {"first 1, middle 1, end 1", "first -> middle, middle -> end, first -> end", 3},
    {"first 1, left 1, right 1, end 1", "first -> left, first -> right, left -> end, right -> end",
     4},
    {"first 1, left 1, middle 1, right 1, end 1",
     "first -> left, first -> middle, first -> right, left -> end, middle -> end, right -> end", 5},
};

class Writer {
 public:
  Writer(std::uint64_t seed, const RandomProgramOptions& options)
      : options_(options), random_(seed) {}

  std::string write() {
    choose_shape();
    choose_features();
    choose_counts();
    text_ = "pipeline random {\n";
    line("param ranks = " + number(ranks_) + ";");
    line("microbatches " + microbatches_ + ";");
    if (join_) {
      line(std::string("stages ") + graph_.stages + ";");
      line(std::string("edges ") + graph_.edges + ";");
      line("place s on " + place_ + ";");
    } else {
      line("stages " + number(ranks_ * chunks_) + ";");
      line("place s on " + place_ + ";");
    }
    write_groups();
    write_ops();
    write_pairs();
    write_resources();
    write_channel();
    write_dispatch();
    return text_ + "}\n";
  }

 private:
  // A number in 0 .. n-1, by remainder, as the standard's distributions differ between libraries.
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
  static std::string number(int n) { return std::to_string(n); }
  std::string pick(const std::vector<std::string>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  void line(const std::string& words) { text_ += "  " + words + "\n"; }
  void shuffle(std::vector<std::string>& words) {
    for (std::size_t i = words.size(); i > 1; --i) {
      std::swap(words[i - 1], words[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
  }

  void choose_shape() {
    ranks_ = between(1, options_.max_ranks);
    chunks_ = between(1, options_.max_chunks);
    join_ = options_.joins && (options_.max_ranks >= 3 || options_.forks) &&
            one_in(options_.forks ? 2 : 8);
    if (join_) {
      if (options_.forks) graph_ = kGraphs[below(4)];
      ranks_ = between(std::min(2, options_.max_ranks), std::min(graph_.count, options_.max_ranks));
      chunks_ =
          1;  // orders select the lanes of a rank only by chunk, and joins do not get any orders
      const int more = graph_.count - ranks_;
      place_ = more == 0 ? "s" : "max(s - " + number(more) + ", 0)";
    } else if (chunks_ == 1) {
      place_ = "s";
    } else if (chunks_ == 2 && one_in(2)) {
      place_ = "s < ranks ? s : 2 * ranks - 1 - s";
    } else {
      place_ = "s % ranks";
    }
    split_ = one_in(2);
    forward_only_ = one_in(10);
  }

  // Half of the programs have none of the requested features, a quarter has one, the rest several.
  void choose_features() {
    in_order_ = options_.orders && !join_ && one_in(3);
    reduce_ = options_.replicas > 1;
    std::vector<std::string> asked;
    if (options_.links) asked.insert(asked.end(), 3, "links");  // one name for several features
    if (options_.once) asked.emplace_back("once");
    if (options_.before) asked.emplace_back("before");
    if (options_.engines) asked.emplace_back("engines");
    if (options_.groups) asked.emplace_back("groups");
    if (options_.keeping) asked.insert(asked.end(), 2, "keeping");  // since it is often impossible
    if (options_.shares) asked.insert(asked.end(), 2, "shares");    // since it has several kinds
    if (options_.pairs) asked.insert(asked.end(), 2, "pairs");
    if (options_.mixed) asked.insert(asked.end(), 2, "mixed");
    if (asked.empty() || one_in(2)) return;
    bool once = false;
    const int most = one_in(2) ? 1 : between(2, 3);
    for (int i = 0; i < most; ++i) {
      const std::string feature = pick(asked);
      links_ = links_ || feature == "links";
      once = once || feature == "once";
      before_ = before_ || feature == "before";
      engines_ = engines_ || (feature == "engines" && !forward_only_);
      groups_ = groups_ || feature == "groups";
      keeping_ = keeping_ || feature == "keeping";
      shares_ = shares_ || feature == "shares";
      pairs_ = pairs_ || feature == "pairs";
      mixed_ = mixed_ || feature == "mixed";
    }
    mixed_ = mixed_ && !forward_only_ && !shares_ && !engines_;
    if (mixed_) choose_whole();
    if (pairs_) groups_ = keeping_ = false;
    if (options_.replicas > 1) keeping_ = false;  // then a reduction may overlap with other tasks
    if (shares_) choose_shares();
    if (engines_) split_ = false;
    // Decides whether ops run once, or a barrier separates forwards from backwards, or both.
    const bool sums = once && (forward_only_ || !one_in(4));
    barrier_ = once && (!sums || (!forward_only_ && one_in(6)));
    reduce_ = reduce_ || sums;
  }

  // Chooses shares for all ops, for an extra op, or for both. If stages have different shares,
  // there is no order, because an order lists the same number of tasks for each stage.
  void choose_shares() {
    struct Filter {
      const char* text;
      const char* count;
    };
    static constexpr Filter kFilters[] = {
        {"m % 2 == 0", "ceil(microbatches / 2)"},
        {"m % 2 == 1", "(microbatches div 2)"},
        {"m % 3 != 1", "(microbatches - (microbatches + 1) div 3)"},
        {"m % 3 == 2", "(microbatches div 3)"},
    };
    const int kind = below(4);
    if (kind > 0) {
      const Filter& filter = kFilters[below(4)];
      extra_ = filter.text;
      extra_count_ = filter.count;
    }
    gate_ = !extra_.empty() && !in_order_ && !engines_ && one_in(2);
    if (kind == 1) return;
    if (!in_order_ && one_in(4)) {
      where_ = " on m where m % 2 == s % 2";
      no_orders_ = true;
      return;
    }
    const Filter& filter = kFilters[below(4)];
    where_ = std::string(" on m where ") + filter.text;
    count_ = filter.count;
  }

  // Chooses which backwards are whole. If this differs between stages, there is no order, and some
  // stage may have no whole backwards, or no split ones.
  void choose_whole() {
    struct Whole {
      const char* where;
      const char* count;
      const char* rest;
      std::vector<std::string> period;
    };
    static const std::vector<Whole> kWhole = {
        {"m % 2 == 0", "ceil(microbatches / 2)", "(microbatches div 2)", {"B", "I"}},
        {"m % 2 == 1", "(microbatches div 2)", "ceil(microbatches / 2)", {"I", "B"}},
        {"m % 3 != 1",
         "(microbatches - (microbatches + 1) div 3)",
         "((microbatches + 1) div 3)",
         {"B", "I", "B"}},
        {"m % 3 == 2",
         "(microbatches div 3)",
         "(microbatches - microbatches div 3)",
         {"I", "I", "B"}},
    };
    split_ = true;
    const Whole& whole = kWhole[static_cast<std::size_t>(below(4))];
    whole_where_ = whole.where;
    whole_count_ = whole.count;
    rest_count_ = whole.rest;
    period_ = whole.period;
    const bool is_alone = !join_ && ranks_ * chunks_ == 1;  // each op must be at some stage
    if (in_order_ || is_alone || one_in(2)) return;
    whole_where_ = pick({"m % 2 == s % 2", "s == 0 ? m % 2 == 0 : m % 3 != 1", "s % 2 == 0",
                         "s > 0 and m % 3 == 0"});
    no_orders_ = true;
  }

  int lanes() const {
    const int ops = static_cast<int>(op_names().size());
    return ops * (join_ ? graph_.count : ranks_ * chunks_);
  }

  void choose_counts() {
    const int most = std::max(1, std::min(options_.max_microbatches, options_.max_tasks / lanes()));
    const int kind = options_.any_count ? below(4) : 3;
    if (kind == 0) {
      microbatches_ = "any";
    } else if (kind == 1) {
      const int low = between(1, most);
      microbatches_ = number(low) + " .. " + number(between(low, most));
    } else {
      microbatches_ = number(between(1, most));
    }
  }

  void write_groups() {
    const int members = groups_ ? 2 : options_.members;
    if (members > 1) {
      std::vector<std::string> ways = {"intersection", "vote", "leader"};
      if (groups_ || in_order_) ways.emplace_back("none");
      line("tensor_parallel " + number(members) + " { agree by " + pick(ways) + "; }");
    }
    if (options_.replicas > 1) line("data_parallel " + number(options_.replicas) + ";");
  }

  std::string sequential() { return one_in(join_ ? 2 : 5) ? " sequential" : ""; }

  std::string leaving() {
    if (chunks_ > 1 && one_in(2)) {
      leaving_ = std::max(leaving_, chunks_ - 1);
      return " leaving chunks - 1 - chunk";
    }
    if (!one_in(6)) return "";
    const int leaving = between(1, 2);
    leaving_ = std::max(leaving_, leaving);
    return " leaving " + number(leaving);
  }

  // A need that may become a message, which may use one of the links.
  std::string message(const std::string& need, const std::string& of = "") {
    if (!links_ || one_in(4)) return need + of;
    const int kind = below(in_order_ ? 6 : 4);
    const std::string slots = " " + number(one_in(3) ? between(2, 4) : between(1, 2));
    if (kind == 0) return need + " via slots" + slots + of;
    if (kind == 1) return need + " via fifo" + slots + of;
    if (kind >= 4) return need + " via rendezvous" + of;
    channel_ = true;
    return need + " via inbox" + of;
  }

  // A further need of some op, for a task of the previous microbatch; empty if no need is drawn.
  std::string of_before() {
    if (!before_ || one_in(3)) return "";
    std::vector<std::string> ops = op_names_of_microbatches();
    if (barrier_) ops = {"F"};  // otherwise a forward might need a backward, despite the barrier
    const std::string place = pick({" at here", " at here", " at prev", " at next"});
    const std::string need = pick(ops) + place;
    return ", " + (place == " at here" ? need + " of m - 1" : message(need, " of m - 1"));
  }

  std::string forward_here() const { return barrier_ ? "F at here of all" : "F at here"; }
  std::string collectives() {
    return options_.members > 1 || (groups_ && !one_in(3)) ? " collectives 1;" : "";
  }

  void write_op(const std::string& head, const std::string& needs, const std::string& does) {
    line("op " + head + sequential() + where_ + " { needs " + needs + of_before() + ";" + does +
         collectives() + " }");
  }

  void write_reduce() {
    if (!reduce_) return;
    const std::string last = op_names_of_microbatches().back();
    std::string needs = last + " at here of all";
    if (mixed_) needs += ", B at here of all";
    if (one_in(3)) needs += ", " + message("G at " + pick({"next", "prev"}));
    if (options_.replicas > 1) {
      line("op G reduce once on comm { needs " + needs + "; }");
      return;
    }
    if (one_in(3)) needs += ", " + message(last + " at " + pick({"next", "prev"}), " of all");
    line("op G " + pick({"reduce", "user \"sum\""}) + " once { needs " + needs + ";" +
         collectives() + " }");
  }

  // Writes the ops: F acquires the activation; the backwards release it at once, or in two parts.
  void write_ops() {
    write_ops_of_microbatches();
    write_extra();
    write_reduce();
  }

  void write_extra() {
    if (extra_.empty()) return;
    std::string needs = pick(op_names_of_microbatches()) + " at here" + of_which();
    if (one_in(3)) needs += ", " + message("P at " + pick({"next", "prev"}));
    const std::string uses = gate_ ? " acquires gate; releases gate;" : "";
    line("op P" + sequential() + " on m where " + extra_ + " { needs " + needs + ";" + uses + " }");
    if (!gate_) return;
    // K acquires the gate, which P also needs; L, which needs K and P, releases the gate.
    line("op K" + sequential() + where_ + " { " + (one_in(2) ? "needs F at here; " : "") +
         "acquires gate; }");
    std::string joined = "K at here, P at here" + of_which();
    if (one_in(2)) joined += ", " + pick(op_names_of_microbatches()) + " at here" + of_which();
    line("op L" + sequential() + where_ + " { needs " + joined + "; releases gate; }");
    line("resource gate per stage { capacity " + number(between(1, 2)) + "; }");
  }

  std::string of_which() {
    if (!one_in(3)) return "";
    return one_in(2) ? " of m - 1" : " of all";
  }

  // O releases F's activation (or all but one unit) until L reloads it. The `leaving` of L may
  // differ from that of F, and the memory that is filled meanwhile may be bounded too.
  void write_offload(const std::string& taken) {
    const int away = amount_ > 1 && one_in(2) ? amount_ - 1 : amount_;
    const std::string out = " releases activation" + amount(away) + ";";
    const std::string in = away == amount_ && one_in(3)
                               ? taken
                               : " acquires activation" + amount(away) + leaving() + ";";
    const bool own = one_in(4);  // B acquires one more for itself
    const std::string freed = std::string(own ? " acquires activation;" : "") +
                              " releases activation" + amount(amount_ + (own ? 1 : 0)) + ";";
    host_ = one_in(3);
    const std::string fills = host_ ? " acquires host;" : "";
    const std::string empties = host_ ? " releases host;" : "";
    const bool by_forward = one_in(2);
    const bool at_reload = one_in(2);
    write_op("F forward", message("F at prev"), taken + (by_forward ? fills : ""));
    line("op O offload" + sequential() + " on copy_out" + where_ + " { needs F at here;" + out +
         (by_forward ? "" : fills) + " }");
    line("op L reload" + sequential() + " on copy_in" + where_ + " { needs O at here" +
         (one_in(2) ? ", " + message("B at next") : std::string()) + ";" + in +
         (at_reload ? empties : "") + " }");
    write_op("B backward", "L at here, " + message("B at next"),
             freed + (at_reload ? "" : empties));
  }

  void write_ops_of_microbatches() {
    amount_ = one_in(3) ? between(2, 3) : 1;
    const std::string taken = " acquires activation" + amount(amount_) + leaving() + ";";
    const std::string freed = " releases activation" + amount(amount_) + ";";
    if (engines_) {
      write_offload(taken);
      return;
    }
    if (mixed_) {
      write_mixed(taken, freed);
      return;
    }
    write_op("F forward", message("F at prev"), taken);
    if (forward_only_) return;
    if (!split_) {
      write_op("B backward", forward_here() + ", " + message("B at next"), freed);
      return;
    }
    gradients_ = one_in(3);
    const bool early = one_in(3);  // if so, I releases the whole activation
    const bool parts = !early && amount_ > 1 && one_in(2);
    std::string input = early ? freed : parts ? " releases activation;" : "";
    std::string weight = early   ? ""
                         : parts ? " releases activation" + amount(amount_ - 1) + ";"
                                 : freed;
    if (gradients_) {
      input += " acquires gradient;";
      weight += " releases gradient;";
    }
    write_op("I backward input", forward_here() + ", " + message("I at next"), input);
    write_op("W backward weight", "I at here", weight);
  }

  // Whole and split backwards need the next stage's gradient, from its B or its I.
  void write_mixed(const std::string& taken, const std::string& freed) {
    const auto gradient = [this] { return message("B at next") + ", " + message("I at next"); };
    const std::string whole = " on m where " + whole_where_;
    const std::string rest = " on m where not (" + whole_where_ + ")";
    const bool early = one_in(3);
    const auto write = [this](const std::string& head, const std::string& where,
                              const std::string& needs, const std::string& does) {
      line("op " + head + sequential() + where + " { needs " + needs + of_before() + ";" + does +
           collectives() + " }");
    };
    write("F forward", "", message("F at prev"), taken);
    write("B backward", whole, forward_here() + ", " + gradient(), freed);
    write("I backward input", rest, forward_here() + ", " + gradient(), early ? freed : "");
    write("W backward weight", rest, "I at here", early ? "" : freed);
  }

  // Writes one or two pairs of ops on the compute engine.
  void write_pairs() {
    std::vector<std::string> ops;
    for (const std::string& op : op_names()) {
      if (!engines_ || (op != "O" && op != "L")) ops.push_back(op);
    }
    if (!pairs_ || ops.size() < 2) return;
    shuffle(ops);
    const int most = ops.size() > 2 ? between(1, 2) : 1;
    for (int i = 0; i < most; ++i) {
      const std::string cost = one_in(3) ? ";" : " { cost " + pick({"1", "1.5", "2", "3"}) + "; }";
      line("pair " + ops[static_cast<std::size_t>(i)] + ", " +
           ops[static_cast<std::size_t>(i + 1)] + cost);
    }
  }

  void write_channel() {
    if (!channel_) return;
    line("channel inbox per " + pick({"stage", "rank"}) + " { slots " + number(between(1, 4)) +
         "; }");
  }

  static std::string amount(int n) { return n == 1 ? "" : " " + number(n); }

  void write_resources() {
    const bool per_rank = one_in(2);
    std::string capacity;
    bounded_ = !one_in(6);
    if (bounded_) {
      std::string value;
      if (!per_rank && !join_ && chunks_ == 1 && one_in(3)) {
        value = number(amount_) + " * (ranks - s) + " + number(leaving_);
      } else {
        // A task that can never start is an error, so the capacity has room for at least one task.
        const int fitting = amount_ * between(1, per_rank ? 2 * chunks_ : 2) + between(-1, 3);
        value = number(std::max(amount_ + leaving_, fitting));
      }
      capacity = " { capacity " + value + "; }";
    } else {
      capacity = " { }";
    }
    line("resource activation per " + std::string(per_rank ? "rank" : "stage") + capacity);
    if (gradients_) {
      line("resource gradient per " + std::string(one_in(2) ? "rank" : "stage") +
           (one_in(4) ? " { }" : " { capacity " + number(between(1, 2)) + "; }"));
    }
    if (host_) {
      line("resource host per " + std::string(one_in(2) ? "rank" : "stage") + " { capacity " +
           number(between(1, 4)) + "; }");
    }
    if (options_.assertions && one_in(3)) {
      line("assert peak activation <= " + number(amount_ * between(1, 4)) + ";");
    }
  }

  std::vector<std::string> op_names() const {
    std::vector<std::string> ops = op_names_of_microbatches();
    if (!extra_.empty()) ops.emplace_back("P");
    if (gate_) ops.insert(ops.end(), {"K", "L"});
    if (reduce_) ops.emplace_back("G");
    return ops;
  }

  std::vector<std::string> op_names_of_microbatches() const {
    std::vector<std::string> ops = {"F"};
    if (mixed_) return {"F", "B", "I", "W"};
    if (engines_) ops.insert(ops.end(), {"O", "L"});
    if (split_ && !forward_only_) ops.insert(ops.end(), {"I", "W"});
    if (!split_ && !forward_only_) ops.emplace_back("B");
    return ops;
  }

  void write_dispatch() {
    if (in_order_) {
      write_order(options_.broken_orders);
      line("dispatch in order listed;");
      return;
    }
    const bool keeps = keeping_ && !no_orders_ && !join_ && !engines_ && (!links_ || one_in(4));
    const std::string keeping = keeps ? " keeping listed" : "";
    // A wrong order gives a result only if all counts of microbatches can be visited.
    if (keeps) write_order(options_.broken_orders && microbatches_ != "any");
    const int kind = below(join_ || no_orders_ ? 4 : 5);
    if (kind == 0) {
      line("dispatch ready" + keeping + ";");
      return;
    }
    if (kind == 4) {
      if (!keeps) write_order(false);
      line("dispatch ready by listed" + keeping + ";");
      return;
    }
    std::vector<std::string> ops = op_names();
    shuffle(ops);
    std::string fill;
    if (ops.size() > 1 && one_in(3)) {
      fill = " fill " + ops.back() + ";";
      ops.pop_back();
    }
    if (ops.size() > 1 && one_in(5)) ops.pop_back();
    if (options_.hints && one_in(3)) {
      for (std::string& op : ops) op += " = " + priority();
      line("hint wish { priority " + joined(ops, ", ") + ";" + fill + " }");
      line("dispatch ready by wish" + keeping + ";");
      return;
    }
    if (options_.hints) write_places(kind == 2 || kind == 3, ops, fill);
    line("hint wish { " + std::string(kind == 1 ? "prefer " : "rounds ") + joined(ops, ", ") + ";" +
         fill + " }");
    line("dispatch ready by wish" + keeping + ";");
  }

  // The priority of a task. It has few values, so that ties occur.
  std::string priority() {
    std::vector<std::string> parts = {"m",
                                      "-m",
                                      "chunk",
                                      "chunks - 1 - chunk",
                                      "s",
                                      "r - s",
                                      "microbatches - m",
                                      "m % 2",
                                      "2 * (m div 2)",
                                      "ceil(s / 2) - floor(m / max(1, chunk))",
                                      "(m < microbatches div 2 and chunk > 0 ? 1 : -1)",
                                      "min(m, 1, chunk)",
                                      "not (m == s or m == 1)",
                                      "0"};
    if (bounded_) parts.insert(parts.end(), {"activation", "-activation", "activation % 2"});
    const std::string first = pick(parts);
    if (one_in(3)) return first;
    return first + (one_in(2) ? " + " : " - " + number(between(1, 3)) + " * ") + "(" + pick(parts) +
           ")";
  }

  static constexpr std::size_t kMostTurns = 15;  // the most turns that the oracle can count

  // Restricts some ops to one chunk; if `turns`, it may also list some ops several times.
  void write_places(bool turns, std::vector<std::string>& places, std::string& fill) {
    const std::vector<std::string> chunks = {"@0", "@(chunks - 1)", "@(r % chunks)"};
    const auto chunk = [&] { return pick(chunks); };
    if (!fill.empty() && one_in(2)) fill.insert(fill.size() - 1, chunk());
    const std::vector<std::string> ops = places;
    for (std::string& place : places) {
      if (one_in(2)) place += chunk();
    }
    // After an op at one chunk, the same op may follow at every chunk.
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (places[i] != ops[i] && one_in(2)) places.push_back(ops[i]);
    }
    for (int more = turns ? below(4) : 0; more > 0; --more) {
      const std::string repeated = pick(ops);
      places.push_back(repeated + (one_in(2) ? chunk() : ""));
    }
    if (!turns) return;
    shuffle(places);
    if (places.size() > kMostTurns) places.resize(kMostTurns);
  }

  static std::string joined(const std::vector<std::string>& words, const std::string& separator) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
    return text;
  }

  // The ops at all chunks: forwards first, then backwards from the last chunk to the first. For one
  // microbatch, these steps are a legal order.
  std::vector<std::string> working_steps() const {
    std::vector<std::string> steps;
    for (const std::string& op : op_names_of_microbatches()) add_steps(op, steps);
    return steps;
  }

  void add_steps(const std::string& op, std::vector<std::string>& steps) const {
    for (int c = 0; c < chunks_; ++c) {
      const int chunk = op == "F" ? c : chunks_ - 1 - c;
      steps.push_back(chunks_ == 1 ? op : op + "@" + number(chunk));
    }
  }

  void write_extra_step() {
    if (extra_.empty()) return;
    std::vector<std::string> steps;
    add_steps("P", steps);
    line("  (" + joined(steps, " ") + ") * " + extra_count_ + ";");
  }

  // Writes the reductions if `here` is true. A right order has them last; other places are wrong.
  void write_reduce_step(bool here) {
    if (!reduce_ || !here) return;
    std::vector<std::string> steps;
    add_steps("G", steps);
    line("  " + joined(steps, "; ") + ";");
  }

  // A stream of the op over all chunks, by groups of microbatches; the last group may be smaller.
  std::string stream(const std::string& name, const std::string& op, int group) {
    const std::string chunk = op == "F" ? "c" : "chunks - 1 - c";
    return "  stream " + name + " = for g in 0 ..< ceil(" + count_ + " / " + number(group) +
           "), c in 0 ..< chunks : " + op + "@(" + chunk + ") * " + number(group) + ";";
  }

  // Writes forwards and backwards by streams, with some forwards ahead; weight gradients are last.
  void write_streams(bool broken) {
    const int group = between(1, 3);
    const int other = broken && one_in(3) ? between(1, 3) : group;
    const std::string ahead =
        pick({"ranks - 1 - r", "2 * (ranks - 1 - r) + (chunks - 1) * " + number(group),
              number(between(0, 3))});
    line("order listed on r {");
    line(stream("f", "F", group));
    if (!forward_only_) line(stream("b", split_ ? "I" : "B", other));
    line("  let all = " + count_ + " * chunks;");
    line("  let warm = min(" + ahead + ", all);");
    line("  f * warm;");
    line(forward_only_ ? "  f * (all - warm);" : "  (f b) * (all - warm);");
    if (!forward_only_) line("  b * warm;");
    if (split_ && !forward_only_) {
      line(stream("w", "W", between(1, 3)));
      line(broken && one_in(4) ? "  w * max(all - 1, 0);" : "  w * all;");
    }
    write_extra_step();
    write_reduce_step(!(broken && one_in(12)));
    line("}");
  }

  // The number of tasks of the op in this step.
  std::string count_of(const std::string& step) const {
    if (!mixed_ || step.front() == 'F') return count_;
    return step.front() == 'B' ? whole_count_ : rest_count_;
  }

  // Writes all tasks of each op at each chunk in turn, backwards from the last chunk on; or, on
  // chains, backwards by microbatch, with some forwards ahead. Weight gradients are last.
  void write_mixed_order(bool broken) {
    line("order listed on r {");
    std::vector<std::string> steps = working_steps();
    const bool by_ops = chunks_ > 1 || one_in(4);
    if (by_ops) {
      if (broken && one_in(3)) shuffle(steps);
      for (const std::string& step : steps) line("  " + step + " * " + count_of(step) + ";");
    } else {
      line("  stream b { for k in 0 ..< microbatches { " + joined(period_, "; ") + "; } }");
      line("  let warm = min(" + pick({"ranks - 1 - r", "r", "2"}) + ", microbatches);");
      line("  F * warm;");
      line("  (F b) * (microbatches - warm);");
      line("  b * warm;");
      line("  W * " + (broken && one_in(3) ? "microbatches" : rest_count_) + ";");
    }
    write_reduce_step(!(broken && one_in(12)));
    line("}");
  }

  std::string one_less() const {
    return where_.empty() ? "(" + count_ + " - 1)" : "max(" + count_ + " - 1, 0)";
  }

  void write_order(bool broken) {
    if (mixed_) {
      write_mixed_order(broken);
      return;
    }
    if (options_.streams && !engines_ && one_in(3)) {
      write_streams(broken);
      return;
    }
    std::vector<std::string> steps = working_steps();
    const int kind = below(broken ? 6 : 3);
    const bool reduce_first = broken && reduce_ && one_in(12);
    line("order listed on r {");
    write_reduce_step(reduce_first);
    if (kind == 0 && chunks_ == 1 && steps.size() > 1) {
      // Writes one forward for each later rank, and then one forward and one backward in turn.
      const std::string rest = joined({steps.begin() + 1, steps.end()}, " ");
      line("  let warm = min(ranks - 1 - r, " + count_ + ");");
      line("  F * warm;");
      line("  (F " + rest + ") * (" + count_ + " - warm);");
      line("  (" + rest + ") * warm;");
    } else if (kind <= 2) {
      const bool by_rank = one_in(4);
      const int ranks = by_rank ? (broken && one_in(6) ? ranks_ - 1 : ranks_) : 1;
      for (int r = 0; r < ranks; ++r) {
        const bool in_turn = by_rank ? one_in(2) : kind == 2;
        if (by_rank) line("  rank " + number(r) + " {");
        if (in_turn) line("  (" + joined(steps, " ") + ") * " + count_ + ";");
        for (const std::string& step : steps) {
          if (!in_turn) line("  " + step + " * " + count_ + ";");
        }
        if (by_rank) line("  }");
      }
    } else if (kind == 3) {
      shuffle(steps);
      for (const std::string& step : steps) line("  " + step + " * " + count_ + ";");
    } else if (kind == 4) {
      shuffle(steps);
      line("  (" + joined(steps, " ") + ") * " + count_ + ";");
    } else {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool short_one = i + 1 == steps.size();
        line("  " + steps[i] + " * " +
             (short_one ? pick({one_less(), "1", "(" + count_ + " + 1)"}) : count_) + ";");
      }
    }
    write_extra_step();
    write_reduce_step(!reduce_first && !(broken && one_in(12)));
    line("}");
  }

  const RandomProgramOptions& options_;
  std::mt19937_64 random_;
  std::string text_;
  int ranks_ = 1;
  int chunks_ = 1;
  int amount_ = 1;
  int leaving_ = 0;
  bool join_ = false;  // the stages are not a chain
  Graph graph_ = kGraphs[0];
  bool split_ = false;
  bool forward_only_ = false;
  bool gradients_ = false;
  bool in_order_ = false;
  bool links_ = false;
  bool reduce_ = false;
  bool barrier_ = false;
  bool before_ = false;
  bool engines_ = false;
  bool host_ = false;
  bool groups_ = false;
  bool channel_ = false;
  bool keeping_ = false;
  bool shares_ = false;
  bool pairs_ = false;
  bool mixed_ = false;
  std::string whole_where_;             // mixed_: the condition for whole backwards
  std::string whole_count_;             // the number of whole backwards
  std::string rest_count_;              // the number of split ones
  std::vector<std::string> period_;     // the backwards of one period, by microbatch
  bool bounded_ = false;                // activation has a capacity
  std::string where_;                   // the filter of all ops of microbatches
  std::string count_ = "microbatches";  // the number of microbatches of those ops
  bool no_orders_ = false;
  bool gate_ = false;  // ops K and L share a resource with P
  std::string extra_;  // the filter of op P; empty if there is no P
  std::string extra_count_;
  std::string place_;
  std::string microbatches_;
};

}  // namespace

std::string random_program_text(std::uint64_t seed, const RandomProgramOptions& options) {
  return Writer(seed, options).write();
}

}  // namespace ripeline::testing_support
