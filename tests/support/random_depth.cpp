#include "tests/support/random_depth.h"

#include <random>
#include <vector>

namespace ripeline::testing_support {
namespace {

using Words = std::vector<std::string>;

class DepthWriter {
 public:
  explicit DepthWriter(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    chunks_ = one_in(2) ? 1 : between(2, 3);
    std::string place = chunks_ == 1 ? "s" : "s % ranks";
    if (chunks_ == 2 && one_in(2)) place = "s < ranks ? s : 2 * ranks - 1 - s";
    const bool in_order = one_in(3);
    text_ = "pipeline random {\n";
    line("param ranks = 4;");
    line("param k = " + number(chunks_) + ";");
    line("microbatches " + pick({"any", "any", "any", "1 .. 3", "2", "ranks .. 2 * ranks"}) + ";");
    line("stages " + pick({"k * ranks", "ranks * k"}) + ";");
    line("place s on " + place + ";");
    per_rank_ = one_in(2);
    write_ops();
    line("resource a per " + std::string(per_rank_ ? "rank" : "stage") + capacity());
    if (one_in(4)) line("assert peak a <= " + bound() + ";");
    if (in_order) write_order();
    line(in_order ? "dispatch in order listed;" : "dispatch ready;");
    return text_ + "}\n";
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
  static std::string number(int n) { return std::to_string(n); }
  std::string pick(const Words& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  void line(const std::string& words) { text_ += "  " + words + "\n"; }

  std::string leaving() {
    if (chunks_ > 1 && !one_in(3)) return " leaving chunks - 1 - chunk";
    if (one_in(6)) return " leaving " + pick({"1", "2", "chunk", "ranks - 1 - r", "r"});
    return "";
  }
  std::string when() {
    if (!one_in(12)) return "";
    return " when " + pick({"s > 0", "s < stages - 1", "s == 0", "s % 2 == 0", "chunk == 0"});
  }
  std::string amount() { return amount_ == 1 ? "" : " " + number(amount_); }

  // The usual needs; sometimes one more, one fewer, or one in another direction.
  std::string needs(Words usual, const Words& earlier) {
    if (one_in(10)) usual.pop_back();
    if (!earlier.empty() && one_in(8)) {
      const std::string extra = pick(earlier) + pick({" at here", " at prev", " at next"});
      for (const std::string& need : usual) {
        if (need == extra) return joined(usual);
      }
      usual.push_back(extra);
    }
    return joined(usual);
  }
  static std::string joined(const Words& needs) {
    std::string text;
    for (const std::string& need : needs) text += (text.empty() ? " needs " : ", ") + need;
    return text.empty() ? text : text + ";";
  }

  void write_ops() {
    amount_ = one_in(4) ? 2 : 1;
    const std::string seq = one_in(4) ? " sequential" : "";
    const std::string taken = " acquires a" + amount() + leaving() + ";";
    const std::string freed = " releases a" + amount() + ";";
    ops_ = {"F"};
    line("op F forward" + seq + when() + " {" + needs({"F at prev"}, {}) + taken + " }");
    if (one_in(12)) return;
    if (one_in(2)) {
      ops_ = {"F", "B"};
      line("op B backward" + seq + when() + " {" + needs({"B at next", "F at here"}, {"F"}) +
           freed + " }");
      return;
    }
    ops_ = {"F", "I", "W"};
    const bool early = one_in(3);
    line("op I backward input" + seq + when() + " {" + needs({"I at next", "F at here"}, {"F"}) +
         (early ? freed : "") + " }");
    line("op W backward weight" + seq + when() + " {" + needs({"I at here"}, {"F", "I"}) +
         (early ? "" : freed) + " }");
  }

  std::string capacity() {
    if (one_in(8)) return " { }";
    const std::string where = per_rank_ ? "r" : "s";
    const std::string base =
        pick({"ranks", "2 * ranks", "k", "k + 1", "ranks - r", "r + k", "ceil(ranks / 2) + k",
              "max(k, ranks - 2)", "min(ranks, 3)", "(" + where + " % 2) + k", "3", "4"});
    const std::string value =
        per_rank_ || base.find('r') == std::string::npos || one_in(2) ? base : "stages - s";
    return " { capacity " + (amount_ == 1 ? value : number(amount_) + " * (" + value + ")") +
           (one_in(6) ? " + 1" : "") + "; }";
  }
  std::string bound() {
    return pick({"2 * k * ranks", "microbatches * k * 2", "4", "ranks + k",
                 per_rank_ ? "ranks - r" : "stages - s"});
  }

  void write_order() {
    const auto at = [&](const std::string& op, int chunk) {
      return chunks_ == 1 ? op : op + "@" + number(chunk);
    };
    line("order listed on r {");
    if (chunks_ == 1 && ops_.size() > 1 && !one_in(3)) {
      std::string rest;
      for (std::size_t i = 1; i < ops_.size(); ++i) rest += (i > 1 ? " " : "") + ops_[i];
      line("  let warm = min(" +
           pick({"ranks - 1 - r", "ranks - r", "2 * (ranks - 1 - r)", "r", "1", "ranks"}) +
           ", microbatches);");
      line("  F * warm;");
      line("  (" + pick({"F " + rest, rest + " F"}) + ") * (microbatches - warm);");
      line("  (" + rest + ") * warm;");
    } else {
      for (const std::string& op : ops_) {
        for (int c = 0; c < chunks_; ++c) {
          const int chunk = op == "F" || one_in(6) ? c : chunks_ - 1 - c;
          line("  " + at(op, chunk) + " * " + (one_in(15) ? "1" : "microbatches") + ";");
        }
      }
    }
    line("}");
  }

  std::mt19937_64 random_;
  std::string text_;
  Words ops_;
  int chunks_ = 1;
  int amount_ = 1;
  bool per_rank_ = false;
};

}  // namespace

std::string random_depth_text(std::uint64_t seed) { return DepthWriter(seed).write(); }

}  // namespace ripeline::testing_support
