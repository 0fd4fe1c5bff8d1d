#include "trace/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "trace/beside.h"

namespace ripeline::trace {
namespace {

constexpr std::size_t kBuffer = 1 << 20;
// The threads of a rank; the thread of an engine has the engine's number.
constexpr int kMessages = core::kEngines;
constexpr int kBeside = core::kEngines + 1;  // plus the engine: tasks that started beside another

std::string name_of_thread(int thread) {
  if (thread == kMessages) return "messages";
  const bool beside = thread >= kBeside;
  const auto engine = static_cast<core::Engine>(beside ? thread - kBeside : thread);
  return std::string(name_of(engine)) + (beside ? " beside" : "");
}

// Appends text to a buffer without the cost of a stream or of printf.
class Text {
 public:
  explicit Text(std::string& out) : out_(out) {}

  Text& operator<<(std::string_view text) {
    out_.append(text);
    return *this;
  }
  Text& operator<<(std::int64_t number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out_.append(digits.data(), end);
    return *this;
  }
  // Writes exact microseconds: 1500 ns is 1.5.
  Text& operator<<(core::Time time) {
    std::int64_t ns = time.count();
    if (ns < 0) {
      out_ += '-';
      ns = -ns;
    }
    *this << ns / 1000;
    if (const std::int64_t rest = ns % 1000; rest != 0) {
      const std::array<char, 4> digits = {'.', static_cast<char>('0' + rest / 100),
                                          static_cast<char>('0' + rest / 10 % 10),
                                          static_cast<char>('0' + rest % 10)};
      std::size_t length = digits.size();
      while (digits[length - 1] == '0') --length;
      out_.append(digits.data(), length);
    }
    return *this;
  }
  // Writes the comma between objects; call before each object.
  void next() {
    if (!out_.empty()) out_ += ",\n";
  }

 private:
  std::string& out_;
};

// Writes a task's name. Ops' names are identifiers of the language, so nothing needs an escape.
Text& put_task(Text& text, const core::ProgramFacts& facts, core::Task task) {
  const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(task.lane)];
  return text << std::int64_t{lane.stage} << facts.ops[static_cast<std::size_t>(lane.op)].name
              << std::int64_t{facts.microbatch_of(task)};
}

core::LaneId producer_of(const core::ProgramFacts& facts, core::EdgeId edge) {
  return facts.edges[static_cast<std::size_t>(edge)].producer;
}

bool may_pair(const core::ProgramFacts& facts, const core::LaneFacts& lane) {
  return std::any_of(facts.pairs.begin(), facts.pairs.end(), [&](const core::PairFacts& pair) {
    return pair.first == lane.op || pair.second == lane.op;
  });
}

// Appends the names of the processes and threads.
void append_names(std::string& out, const core::ProgramFacts& facts) {
  std::set<std::pair<int, int>> threads;
  for (const core::LaneFacts& lane : facts.lanes) {
    threads.insert({lane.rank, static_cast<int>(lane.engine)});
    threads.insert({lane.rank, kMessages});
    if (may_pair(facts, lane)) {
      threads.insert({lane.rank, kBeside + static_cast<int>(lane.engine)});
    }
  }
  Text text(out);
  for (int rank = 0; rank < facts.ranks; ++rank) {
    text.next();
    text << R"({"ph":"M","name":"process_name","pid":)" << std::int64_t{rank}
         << R"(,"args":{"name":"rank )" << std::int64_t{rank} << R"("}})";
  }
  for (const auto& [rank, thread] : threads) {
    text.next();
    text << R"({"ph":"M","name":"thread_name","pid":)" << std::int64_t{rank} << R"(,"tid":)"
         << std::int64_t{thread} << R"(,"args":{"name":")" << name_of_thread(thread) << R"("}})";
  }
}

}  // namespace

EventText::EventText(const About& about) : about_(about) {
  const core::ProgramFacts& facts = about.facts();
  for (std::size_t i = 0; i < facts.edges.size(); ++i) {
    const auto edge = static_cast<core::EdgeId>(i);
    if (facts.crosses_ranks(edge)) edges_.push_back(edge);
  }
  std::stable_sort(edges_.begin(), edges_.end(), [&](core::EdgeId a, core::EdgeId b) {
    return producer_of(facts, a) < producer_of(facts, b);
  });
}

void EventText::append(std::string& out, const TaskEvent& e, bool beside) const {
  const core::ProgramFacts& facts = about_.facts();
  const core::LaneFacts& lane = facts.lanes[static_cast<std::size_t>(e.task.lane)];
  const std::int64_t thread = static_cast<std::int64_t>(lane.engine) + (beside ? kBeside : 0);
  Text text(out);
  text.next();
  text << R"({"ph":"X","name":")";
  put_task(text, facts, e.task) << R"(","cat":")"
                                << facts.ops[static_cast<std::size_t>(lane.op)].name
                                << R"(","pid":)" << std::int64_t{lane.rank} << R"(,"tid":)"
                                << thread << R"(,"ts":)" << e.start << R"(,"dur":)"
                                << e.end - e.start << R"(,"args":{"step":)" << e.step
                                << R"(,"lane":)" << std::int64_t{e.task.lane} << R"(,"microbatch":)"
                                << std::int64_t{facts.microbatch_of(e.task)};
  if (e.deferral.parameters > 0) {
    text << R"(,"parameters":)" << std::int64_t{e.deferral.parameters} << R"(,"deferred":)"
         << std::int64_t{e.deferral.deferred} << R"(,"kept":)" << e.deferral.bytes;
  }
  if (e.queued > core::Time{0}) text << R"(,"queued":)" << e.queued;
  text << "}}";
  append_arrows(out, e, thread);
}

// Viewers attach an end of an arrow to the event on the same thread at the same time. An arrow
// begins in its task's last nanosecond, since the thread's next task may start as the task ends.
void EventText::append_arrows(std::string& out, const TaskEvent& e, std::int64_t thread) const {
  const core::ProgramFacts& facts = about_.facts();
  const int count = about_.run.microbatches;
  const std::int64_t rank = facts.lanes[static_cast<std::size_t>(e.task.lane)].rank;
  const auto append_end = [&](std::string_view phase, core::EdgeId edge, int m, core::Time at) {
    const auto edges = static_cast<std::int64_t>(facts.edges.size());
    Text text(out);
    text.next();
    text << R"({"ph":)" << phase << R"(,"id":)" << (e.step * edges + edge) * count + m
         << R"(,"name":"message","cat":"flow","pid":)" << rank << R"(,"tid":)" << thread
         << R"(,"ts":)" << at << "}";
  };
  const auto first = std::lower_bound(
      edges_.begin(), edges_.end(), e.task.lane,
      [&](core::EdgeId edge, core::LaneId lane) { return producer_of(facts, edge) < lane; });
  for (auto edge = first; edge != edges_.end() && producer_of(facts, *edge) == e.task.lane;
       ++edge) {
    if (!facts.is_needed(*edge, e.task.microbatch, count)) continue;
    append_end(R"("s")", *edge, e.task.microbatch, std::max(e.start, e.end - core::Time{1}));
  }
  // Edges are numbered in the order of their consumers, so the edges into the task are adjacent.
  const auto into = std::partition_point(
      facts.edges.begin(), facts.edges.end(),
      [&](const core::EdgeFacts& edge) { return edge.consumer < e.task.lane; });
  for (auto it = into; it != facts.edges.end() && it->consumer == e.task.lane; ++it) {
    const auto edge = static_cast<core::EdgeId>(it - facts.edges.begin());
    if (!facts.crosses_ranks(edge)) continue;
    const core::TaskSpan needed = facts.needed(edge, e.task.microbatch, count);
    for (int m = needed.first; m < needed.last; ++m) {
      if (facts.needed_by(edge, m, count) != e.task.microbatch) continue;
      append_end(R"("f","bp":"e")", edge, m, e.start);
    }
  }
}

void EventText::append(std::string& out, const MessageEvent& e) const {
  const core::ProgramFacts& facts = about_.facts();
  const core::EdgeFacts& edge = facts.edges[static_cast<std::size_t>(e.message.edge)];
  const int to = facts.lanes[static_cast<std::size_t>(edge.consumer)].rank;
  Text text(out);
  text.next();
  text << R"({"ph":"i","s":"t","name":")";
  const core::Task producer{edge.producer, e.message.microbatch};
  put_task(text, facts, producer) << R"( arrives","cat":"message","pid":)" << std::int64_t{to}
                                  << R"(,"tid":)" << std::int64_t{kMessages} << R"(,"ts":)"
                                  << e.arrived << R"(,"args":{"step":)" << e.step << R"(,"edge":)"
                                  << std::int64_t{e.message.edge} << R"(,"microbatch":)"
                                  << std::int64_t{facts.microbatch_of(producer)} << R"(,"sent":)"
                                  << e.sent << "}}";
}

void EventText::append(std::string& out, const IdleEvent& e) const {
  const core::ProgramFacts& facts = about_.facts();
  Text text(out);
  text.next();
  text << R"({"ph":"X","name":")" << text_of(e.cause);
  if (e.next.lane >= 0) put_task(text << ", then ", facts, e.next);
  text << R"(","cat":"idle","pid":)" << std::int64_t{e.rank} << R"(,"tid":)"
       << static_cast<std::int64_t>(e.engine) << R"(,"ts":)" << e.start << R"(,"dur":)"
       << e.end - e.start << R"(,"args":{"step":)" << e.step << R"(,"cause":")" << word_of(e.cause)
       << "\"";
  if (e.next.lane >= 0) {
    text << R"(,"lane":)" << std::int64_t{e.next.lane} << R"(,"microbatch":)"
         << std::int64_t{facts.microbatch_of(e.next)};
  }
  text << "}}";
}

std::string EventText::of(const Record& record) const {
  std::string text;
  const std::vector<bool> beside = started_beside(about_.facts(), record.tasks);
  for (std::size_t i = 0; i < record.tasks.size(); ++i) {
    append(text, record.tasks[i], !beside.empty() && beside[i]);
  }
  for (const MessageEvent& e : record.messages) append(text, e);
  for (const IdleEvent& e : record.idle) append(text, e);
  return text;
}

std::string opening_text(const About& about) {
  std::string names;
  append_names(names, about.facts());
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + about.to_json() + ",\n\"traceEvents\":[\n" +
         names;
}

Writer::Writer(std::string path, const About& about)
    : about_(about), text_(about), file_(std::move(path)) {
  buffer_.reserve(kBuffer + 1024);
  buffer_ += opening_text(about);
}

void Writer::add(const Record& record) {
  const auto add_one = [&](const auto& e, auto... how) {
    text_.append(buffer_, e, how...);
    if (buffer_.size() < kBuffer) return;
    // Keeps the last byte, since the next object gets a comma only if the buffer is not empty.
    file_.write({buffer_.data(), buffer_.size() - 1});
    buffer_.erase(0, buffer_.size() - 1);
  };
  const auto add_all = [&](const auto& events) {
    for (const auto& e : events) add_one(e);
  };
  const std::vector<bool> beside = started_beside(about_.facts(), record.tasks);
  for (std::size_t i = 0; i < record.tasks.size(); ++i) {
    add_one(record.tasks[i], !beside.empty() && beside[i]);
  }
  add_all(record.messages);
  add_all(record.idle);
}

core::Status Writer::finish() {
  file_.write(buffer_ + kClosing);
  return file_.put();
}

}  // namespace ripeline::trace
