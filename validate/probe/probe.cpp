#include "validate/probe/probe.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/index.h"

namespace ripeline::validate {
namespace {

using core::LaneId;

template <class... Numbers>
std::string line(const char* what, Numbers... numbers) {
  std::string text = what;
  ((text += " " + std::to_string(numbers)), ...);
  return text + "\n";
}

std::string rules(const Probe& probe) {
  std::string text;
  const std::vector<Formula> held = held_of(probe.facts);
  for (LaneId lane = 0; index(lane) < probe.facts.lanes.size(); ++lane) {
    std::vector<Formula> started = held;
    std::vector<Formula> ended = held;
    probe.acquire(lane, started.data());
    probe.release(lane, ended.data());
    text += rules_text(probe.facts, lane, probe.has_room(lane, held.data()), started, ended);
  }
  return text;
}

// Removes a number, such as 2, from the beginning of the text; false if the text has none there.
template <class Number>
bool number(std::string_view& text, Number& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(index(end - text.data()));
  return true;
}

std::optional<std::string> order(const Probe& probe, std::string_view text) {
  int rank = 0;
  int microbatches = 0;
  if (!number(text, rank) || !number(text, microbatches)) return std::nullopt;
  if (rank < 0 || rank >= probe.facts.ranks) return std::nullopt;
  core::OrderWriter writer(probe.facts, rank, microbatches);
  const core::Status status = probe.write_order(rank, microbatches, writer);
  return order_text(status, writer);
}

std::optional<std::string> value(const Probe& probe, std::string_view text) {
  core::Task task;
  int microbatches = 0;
  if (!number(text, task.lane) || !number(text, task.microbatch)) return std::nullopt;
  if (!number(text, microbatches) || task.lane < 0) return std::nullopt;
  if (index(task.lane) >= probe.facts.lanes.size()) return std::nullopt;
  std::vector<std::int64_t> held(probe.facts.pools.size(), 0);
  if (text == " each") held = each_differently(probe.facts);
  for (int pool = 0; number(text, pool);) {
    std::int64_t amount = 0;
    if (pool < 0 || index(pool) >= held.size() || !text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
    if (!number(text, amount)) return std::nullopt;
    held[index(pool)] = amount;
  }
  return std::to_string(probe.value(task, held.data(), microbatches));
}

std::string answer(const Probe& probe, std::string_view question) {
  const std::string_view word = question.substr(0, question.find(' '));
  const std::string_view rest = question.substr(word.size());
  std::optional<std::string> found;
  if (word == "order") found = order(probe, rest);
  if (word == "value") found = value(probe, rest);
  if (!found) return "not understood: " + std::string(question) + "\n";
  return std::string(question) + " = " + *found + "\n";
}

// The places of a hint, or of the hint's fill.
std::string places_text(const char* what, std::span<const core::PlaceFacts> places) {
  std::string text;
  for (const core::PlaceFacts& place : places) {
    text += std::string(what) + " " + std::to_string(place.op);
    for (const int chunk : place.chunk) text += " @" + std::to_string(chunk);
    text += line("", place.by_microbatch);
  }
  return text;
}

std::string dispatch_text(const core::DispatchFacts& dispatch) {
  std::string text = "dispatch" + line("", dispatch.in_order, dispatch.keeps_room, dispatch.binds,
                                       static_cast<int>(dispatch.rule));
  text += places_text("place", dispatch.places) + places_text("fill", dispatch.fill);
  if (const auto& p = dispatch.patience) {
    text += line("patience", std::bit_cast<std::uint64_t>(p->patience),
                 std::bit_cast<std::uint64_t>(p->yield), p->forecasts, p->learns);
  }
  return text;
}

}  // namespace

Formula Formula::truth(const std::string& text) {
  Formula formula(true);
  formula.all_.insert(text);
  return formula;
}

Formula Formula::without_meaning() {
  Formula formula;
  formula.is_without_meaning_ = true;
  return formula;
}

Formula Formula::plus(const Formula& b, std::int64_t factor) const {
  if (is_without_meaning_ || b.is_without_meaning_) return without_meaning();
  if (is_truth_ || b.is_truth_) return without_meaning();
  // Adds factor * value; false if that does not fit.
  const auto add = [&](std::int64_t& to, std::int64_t value) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(factor, value, &product) &&
           !__builtin_add_overflow(to, product, &to);
  };
  Formula sum = *this;
  if (!add(sum.constant_, b.constant_)) return without_meaning();
  for (const auto& [name, times] : b.terms_) {
    std::int64_t& own = sum.terms_[name];
    if (!add(own, times)) return without_meaning();
    if (own == 0) sum.terms_.erase(name);
  }
  return sum;
}

Formula operator<=(const Formula& a, const Formula& b) {
  Formula difference = a - b;
  std::int64_t most = 0;
  if (difference.is_without_meaning_ ||
      __builtin_sub_overflow(std::int64_t{0}, std::exchange(difference.constant_, 0), &most)) {
    return Formula::without_meaning();
  }
  if (difference.terms_.empty()) return most >= 0;
  return Formula::truth(difference.text() + " <= " + std::to_string(most));
}

Formula operator&&(const Formula& a, const Formula& b) {
  if (!a.is_truth_ || !b.is_truth_) return Formula::without_meaning();
  Formula both = a;
  both.all_.insert(b.all_.begin(), b.all_.end());
  return both.all_.contains("false") ? Formula(false) : both;
}

Formula operator||(const Formula& a, const Formula& b) {
  if (!a.is_truth_ || !b.is_truth_) return Formula::without_meaning();
  if (a.text() == "false" || b.all_.empty()) return b;
  if (b.text() == "false" || a.all_.empty()) return a;
  return Formula::truth("(" + a.text() + " or " + b.text() + ")");
}

std::string Formula::text() const {
  if (is_without_meaning_) return "without meaning";
  std::string text;
  for (const std::string& each : all_) text += (text.empty() ? "" : " and ") + each;
  if (is_truth_) return text.empty() ? "true" : text;
  for (const auto& [name, factor] : terms_) {
    text +=
        (text.empty() ? "" : " + ") + (factor == 1 ? "" : std::to_string(factor) + " * ") + name;
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ == 0) return text;
  const std::string number = std::to_string(constant_);
  return text + (constant_ < 0 ? " - " + number.substr(1) : " + " + number);
}

std::vector<Formula> held_of(const core::ProgramFacts& facts) {
  std::vector<Formula> held;
  for (int pool = 0; index(pool) < facts.pools.size(); ++pool) {
    held.push_back(Formula::named(pool_name(facts, pool)));
  }
  return held;
}

std::string rules_text(const core::ProgramFacts& facts, LaneId lane, const Formula& has_room,
                       const std::vector<Formula>& started, const std::vector<Formula>& ended) {
  const std::string head = "rule " + lane_name(facts, lane);
  std::string text = head + " may start where " + has_room.text() + "\n";
  const std::vector<Formula> held = held_of(facts);
  for (const auto& [what, after] :
       {std::pair(" starts: ", &started), std::pair(" ends: ", &ended)}) {
    for (std::size_t pool = 0; pool < held.size(); ++pool) {
      const std::string found = (*after)[pool].text();
      const std::string before = held[pool].text();
      if (found != before) text += head + what + before + " becomes " + found + "\n";
    }
  }
  return text;
}

std::string facts_text(const core::ProgramFacts& facts) {
  std::string text = "program " + std::string(facts.name) + line(" hash", facts.hash);
  text += line("size", facts.ranks, facts.stages, facts.min_microbatches, facts.max_microbatches);
  if (facts.inputs == core::InputOrder::pyramid) text += "inputs pyramid\n";
  for (const core::OpFacts& o : facts.ops) {
    text += "op " + std::string(o.name) + line("", static_cast<int>(o.kind), o.sequential);
  }
  for (const core::LaneFacts& l : facts.lanes) {
    text += line("lane", l.op, l.stage, l.rank, l.chunk, static_cast<int>(l.engine), l.once,
                 l.share.period, l.share.remainders);
    for (int i = 0; l.share.is_long() && i < l.share.word_count(); ++i) {
      text += line("share", l.share.words[i].bits, l.share.words[i].before);
    }
  }
  for (const core::EdgeFacts& e : facts.edges) {
    text += line("edge", e.producer, e.consumer, static_cast<int>(e.of), e.inbox, e.fifo,
                 e.rendezvous, e.crosses_shares);
  }
  for (const core::InboxFacts& i : facts.inboxes) {
    text += "inbox '" + std::string(i.channel) + "'" + line("", i.rank, i.stage, i.slots);
  }
  for (const core::PoolFacts& p : facts.pools) {
    text += "pool " + std::string(p.resource) + " '" + std::string(p.unit) + "'" +
            line("", p.rank, p.stage, p.capacity);
  }
  for (const core::UseFacts& u : facts.uses)
    text += line("use", u.lane, u.pool, u.acquires, u.releases, u.leaving);
  for (const core::PairFacts& p : facts.pairs) text += line("pair", p.first, p.second);
  if (facts.members > 1) text += line("members", facts.members, static_cast<int>(facts.agree));
  for (const LaneId lane : facts.collectives) text += line("collectives", lane);
  if (facts.replicas > 1) text += line("replicas", facts.replicas);
  for (const LaneId lane : facts.reductions) text += line("reductions", lane);
  if (facts.one_engine) text += "one engine\n";
  return text + dispatch_text(facts.dispatch);
}

std::vector<int> counted_pools(const core::ProgramFacts& facts) {
  std::vector<int> pools;
  for (const core::UseFacts& use : facts.uses) {
    if (facts.room(use)) pools.push_back(use.pool);
  }
  std::sort(pools.begin(), pools.end());
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  return pools;
}

std::vector<std::int64_t> each_differently(const core::ProgramFacts& facts) {
  std::vector<std::int64_t> held(facts.pools.size(), 0);
  for (const int pool : counted_pools(facts)) held[index(pool)] = pool + 1;
  return held;
}

std::string order_text(const core::Status& status, const core::OrderWriter& order) {
  if (!status.ok()) return "refused";
  std::string text;
  for (const core::Task& task : order.tasks()) {
    text += (text.empty() ? "" : " ") + std::to_string(task.lane) + "/" +
            std::to_string(task.microbatch);
  }
  return text;
}

std::string answers(const Probe& probe, std::string_view questions) {
  std::string text = facts_text(probe.facts) + rules(probe);
  if (!probe.makes_arbiters) text += "make_arbiter makes something else\n";
  if (probe.one_engine != probe.facts.one_engine) text += "kOneEngine is not the facts'\n";
  while (!questions.empty()) {
    const std::size_t end = questions.find('\n');
    if (end != 0) text += answer(probe, questions.substr(0, end));
    questions.remove_prefix(end == std::string_view::npos ? questions.size() : end + 1);
  }
  return text;
}

}  // namespace ripeline::validate
