#include "validate/probe/probe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

template <class... Numbers>
std::string line(const char* what, Numbers... numbers) {
  std::string text = what;
  ((text += " " + std::to_string(numbers)), ...);
  return text + "\n";
}

std::string change(const char* what, LaneId lane, const std::vector<Formula>& before,
                   void (*effect)(LaneId lane, Formula* held)) {
  std::vector<Formula> after = before;
  effect(lane, after.data());
  std::string text;
  for (std::size_t pool = 0; pool < after.size(); ++pool) {
    if (after[pool].text() == before[pool].text()) continue;
    text += std::string(what) + " " + std::to_string(lane) + " " + std::to_string(pool) + " " +
            after[pool].text() + "\n";
  }
  return text;
}

std::string formulas(const Probe& probe) {
  if (probe.has_room == nullptr) return "";
  std::vector<Formula> held;
  for (std::size_t pool = 0; pool < probe.facts.pools.size(); ++pool) {
    held.push_back(Formula::named("h" + std::to_string(pool)));
  }
  std::string text;
  for (LaneId lane = 0; index(lane) < probe.facts.lanes.size(); ++lane) {
    text += "guard " + std::to_string(lane) + " " + probe.has_room(lane, held.data()).text() + "\n";
    text += change("acquire", lane, held, probe.acquire);
    text += change("release", lane, held, probe.release);
  }
  return text;
}

std::string name(Task task) {
  return " " + std::to_string(task.lane) + "/" + std::to_string(task.microbatch);
}

// Of a choice that starts nothing.
std::string idle_text(const Choice& choice) {
  if (choice.kind != Choice::Kind::hold) return " nothing";
  return " hold " + std::to_string(choice.until.count());
}

// The ready tasks, as they lie and as they would be chosen.
std::string look(const Arbiter& arbiter, Engine engine, int microbatches, Time now) {
  const ProgramFacts& facts = arbiter.facts();
  TaskSet left;
  arbiter.ready(engine, left);
  std::string text = " ready";
  std::size_t count = 0;
  for (LaneId lane = 0; index(lane) < facts.lanes.size(); ++lane) {
    if (facts.lanes[index(lane)].rank != arbiter.rank()) continue;
    for (int m = 0; m < microbatches; ++m) {
      if (!left.contains({lane, m})) continue;
      text += name({lane, m});
      ++count;
    }
  }
  const Choice free = arbiter.choose(engine, nullptr, now);
  text += " choose" + (free.starts() ? name(free.task) : idle_text(free)) + " then";
  for (; count > 0; --count) {
    const Choice choice = arbiter.choose(engine, &left, now);
    if (!choice.starts()) return text + idle_text(choice);
    text += name(choice.task);
    const bool known = choice.task.lane >= 0 && index(choice.task.lane) < facts.lanes.size() &&
                       facts.lanes[index(choice.task.lane)].rank == arbiter.rank() &&
                       choice.task.microbatch >= 0 && choice.task.microbatch < microbatches;
    if (!known || !left.contains(choice.task)) return text + " which was not allowed";
    left.remove(choice.task);
  }
  if (arbiter.choose(engine, &left, now).starts()) text += " and more";
  const bool asked = std::any_of(facts.edges.begin(), facts.edges.end(),
                                 [](const EdgeFacts& e) { return e.rendezvous; });
  return asked ? text + " next" + name(arbiter.next_in_order(engine)) : text;
}

class Player {
 public:
  explicit Player(const std::function<std::unique_ptr<Arbiter>(int)>& make) : make_(make) {}

  std::string play(std::string_view script) {
    while (!script.empty()) {
      const std::size_t end = script.find('\n');
      const std::string_view text = script.substr(0, end);
      if (!text.empty() && !run(text)) {
        return out_ + "not understood: " + std::string(text) + "\n";
      }
      script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    }
    return std::move(out_);
  }

 private:
  static bool number(std::string_view& text, int& value) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return false;
    text.remove_prefix(index(end - text.data()));
    return true;
  }

  bool run(std::string_view text) {
    if (text == "?") {
      if (!arbiter_) return false;
      out_ += look(*arbiter_, microbatches_, now_) + "\n";
      return true;
    }
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    int a = 0;
    int b = 0;
    if (!number(text, a)) return false;
    if (word == "rank") return now_ = Time{0}, (arbiter_ = make_(a)) != nullptr;
    if (!arbiter_) return false;
    if (word == "now") return now_ = Time{a}, true;
    if (word == "begin") {
      microbatches_ = a;
      if (!arbiter_->begin_step(step_++, a).ok()) out_ += "refused\n";
      return true;
    }
    if (!number(text, b)) return false;
    if (word == "arrive") return arbiter_->on_arrived({a, b}, now_), true;
    if (word == "taken") return arbiter_->on_taken({a, b}, now_), true;
    if (word == "start") return arbiter_->started({a, b}, now_), true;
    if (word == "end") return arbiter_->on_finished({a, b}, now_), true;
    return wait(word, text, a, b);
  }

  // What patience reads.
  bool wait(std::string_view word, std::string_view text, int a, int b) {
    if (word == "took") {
      Notice notice;
      notice.kind = Notice::Kind::taken;
      notice.message.edge = a;
      notice.count = b;
      return arbiter_->on_notice(notice, now_), true;
    }
    int c = 0;
    if (!number(text, c)) return false;
    if (word == "notice") {
      arbiter_->on_notice({.message = {a, b}, .in = Time{c}}, now_);
      return true;
    }
    if (word != "costs") return false;
    const ProgramFacts& facts = arbiter_->facts();
    arbiter_->expect({.tasks = std::vector<Time>(facts.lanes.size(), Time{a}),
                      .varying = {},
                      .links = std::vector<Time>(facts.edges.size(), Time{b}),
                      .notices = std::vector<Time>(facts.edges.size(), Time{c})});
    return true;
  }

  const std::function<std::unique_ptr<Arbiter>(int)>& make_;
  std::unique_ptr<Arbiter> arbiter_;
  std::int64_t step_ = 0;
  int microbatches_ = 0;
  Time now_{0};
  std::string out_;
};

}  // namespace

std::string facts_text(const ProgramFacts& facts) {
  std::string text = "program " + std::string(facts.name) + line(" hash", facts.hash);
  text += line("size", facts.ranks, facts.stages, facts.min_microbatches, facts.max_microbatches);
  if (facts.inputs == InputOrder::pyramid) text += "inputs pyramid\n";
  for (const OpFacts& o : facts.ops) {
    text += "op " + std::string(o.name) + line("", static_cast<int>(o.kind));
  }
  for (const LaneFacts& l : facts.lanes) {
    text += line("lane", l.op, l.stage, l.rank, l.chunk, static_cast<int>(l.engine), l.once,
                 l.share.period, l.share.remainders);
    for (int i = 0; l.share.is_long() && i < l.share.word_count(); ++i) {
      text += line("share", l.share.words[i].bits, l.share.words[i].before);
    }
  }
  for (const EdgeFacts& e : facts.edges) {
    text += line("edge", e.producer, e.consumer, static_cast<int>(e.of), e.inbox, e.fifo,
                 e.rendezvous, e.crosses_shares);
  }
  for (const InboxFacts& i : facts.inboxes) {
    text += "inbox '" + std::string(i.channel) + "'" + line("", i.rank, i.stage, i.slots);
  }
  for (const PoolFacts& p : facts.pools) {
    text += "pool " + std::string(p.resource) + " '" + std::string(p.unit) + "'" +
            line("", p.rank, p.stage, p.capacity);
  }
  for (const UseFacts& u : facts.uses)
    text += line("use", u.lane, u.pool, u.acquires, u.releases, u.leaving);
  for (const PairFacts& p : facts.pairs) text += line("pair", p.first, p.second);
  if (facts.members > 1) text += line("members", facts.members, static_cast<int>(facts.agree));
  for (const LaneId lane : facts.collectives) text += line("collectives", lane);
  if (facts.replicas > 1) text += line("replicas", facts.replicas);
  for (const LaneId lane : facts.reductions) text += line("reductions", lane);
  return text;
}

std::string look(const Arbiter& arbiter, int microbatches, Time now) {
  std::array<bool, kEngines> used{};
  for (const LaneFacts& lane : arbiter.facts().lanes) {
    if (lane.rank == arbiter.rank()) used[static_cast<std::size_t>(lane.engine)] = true;
  }
  std::string text = "?";
  for (std::size_t engine = 0; engine < used.size(); ++engine) {
    if (used[engine]) text += look(arbiter, static_cast<Engine>(engine), microbatches, now);
  }
  return text;
}

std::string play(const std::function<std::unique_ptr<Arbiter>(int)>& make_arbiter,
                 std::string_view script) {
  return Player(make_arbiter).play(script);
}

std::string answers(const Probe& probe, std::string_view script) {
  return facts_text(probe.facts) + formulas(probe) + play(probe.make_arbiter, script);
}

}  // namespace ripeline::core
