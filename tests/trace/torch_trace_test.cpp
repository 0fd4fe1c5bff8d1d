// Tests traces of PyTorch's profiler: a task's time differs from that of its mark; a file without
// times is refused, with advice on what to record.
//
// The specimens are runs of PyTorch 2.11 on two ranks over Gloo, reduced to the marks and to the
// first operators after them; on_a_gpu.json was written by hand.
#include "trace/torch_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/runtime/ranks.h"
#include "trace/read.h"

namespace ripeline::trace::torch_trace_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string specimen(const std::string& name) {
  return std::string(RIPELINE_SOURCE_DIR) + "/tests/specimens/torch_profiler/" + name;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Lines such as `1 2F0 1500`: step, task and nanoseconds.
std::vector<std::string> said(const TorchTrace& trace) {
  std::vector<std::string> lines;
  for (const TorchTask& t : trace.tasks) {
    lines.push_back(std::to_string(t.step) + " " + std::to_string(t.stage) + t.op +
                    std::to_string(t.microbatch) + " " + std::to_string((t.end - t.start).count()));
  }
  return lines;
}

std::string event(const std::string& category, const std::string& name, int thread, double start,
                  double duration, const std::string& more = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 1, "tid": )" + std::to_string(thread) + R"(, "ts": )" +
         std::to_string(start) + R"(, "dur": )" + std::to_string(duration) + more + "}";
}
std::string mark(const std::string& name, double start, double duration) {
  return event("user_annotation", name, 7, start, duration);
}
std::string operation(double start, int thread = 7) {
  return event("cpu_op", "aten::mm", thread, start, 1);
}
std::string correlated(int id) {
  return R"(, "args": {"correlation": )" + std::to_string(id) + "}";
}
std::string launch(double at, int id, int thread = 7) {
  return event("cuda_runtime", "cudaLaunchKernel", thread, at, 1, correlated(id));
}
std::string kernel(const std::string& name, double start, double duration, int id) {
  return event("kernel", name, 20, start, duration, correlated(id));
}

class TorchTraceTest : public testing::Test {
 protected:
  // Reads the text as a trace file; returns the error message without the file's name.
  std::string read_text_of(const std::string& text) {
    const std::string path = folder_.path() + "/rank.json";
    std::ofstream(path, std::ios::binary) << text;
    auto read = read_torch_trace(path);
    std::string message = read.message();
    trace_ = read.ok() ? std::move(read).value() : TorchTrace{};
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    return message;
  }
  std::string read_events_of(const std::vector<std::string>& events,
                             const std::string& info = R"({"rank": 3, "world_size": 4})") {
    std::string text =
        R"({"schemaVersion": 1, "distributedInfo": )" + info + R"(, "traceEvents": [)";
    for (const std::string& one : events) text += (&one == &events.front() ? "" : ",") + one;
    return read_text_of(text + "]}");
  }

  testing_support::TemporaryFolder folder_;
  TorchTrace trace_;
};

// The mark PP:3F0 of the first step lasts 641.398 us; its first operator starts after 96.605 us.
TEST_F(TorchTraceTest, on_the_host_leaves_out_the_wait_for_the_message) {
  const auto read = read_torch_trace(specimen("interleaved.rank1.json"));
  ASSERT_EQ(read.message(), "");
  const TorchTrace& trace = read.value();
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.ranks, 2);
  EXPECT_FALSE(trace.on_gpu);
  EXPECT_FALSE(trace.marks_steps);
  EXPECT_THAT(trace.notes, IsEmpty());
  EXPECT_THAT(
      said(trace),
      ElementsAre("0 1F0 491693", "0 1F1 84376", "0 3F0 544793", "0 3B0 817259", "0 3F1 216103",
                  "0 3B1 217164", "0 1B0 137084", "0 1B1 216573", "1 1F0 104335", "1 1F1 66018",
                  "1 3F0 136403", "1 3B0 237334", "1 3F1 121491", "1 3B1 155131", "1 1B0 181892",
                  "1 1B1 151126", "2 1F0 179027", "2 1F1 122062", "2 3F0 231045", "2 3B0 419586",
                  "2 3F1 259557", "2 3B1 209753", "2 1B0 175491", "2 1B1 176233"));
}

// On the GPU, the mark of 2B0 contains only the memset of 1.5 us, because autograd launches from
// another thread. A sum over replicas takes longer than the backward that started it.
TEST_F(TorchTraceTest, on_a_gpu_has_the_kernels_that_were_launched_within_the_mark) {
  const auto read = read_torch_trace(specimen("on_a_gpu.json"));
  ASSERT_EQ(read.message(), "");
  const TorchTrace& trace = read.value();
  EXPECT_EQ(trace.rank, 2);
  EXPECT_EQ(trace.ranks, 4);
  EXPECT_TRUE(trace.on_gpu);
  EXPECT_TRUE(trace.marks_steps);
  EXPECT_THAT(trace.notes, IsEmpty());
  EXPECT_THAT(said(trace), ElementsAre("4 2F0 100000", "4 2B0 180000", "5 2F0 110000",
                                       "5 2B0 200000", "6 2F0 112000", "6 2B0 204000"));
}

TEST_F(TorchTraceTest, of_a_task_in_which_nothing_ran_has_no_time) {
  const std::vector<std::string> marks = {mark("PP:0F0", 10, 5), mark("PP:0I0", 20, 900),
                                          mark("PP:0W0", 1000, 30)};
  std::vector<std::string> events = marks;
  // Operators of other threads, or between two marks, are not part of the task.
  for (const std::string& one :
       {operation(11), operation(30, 8), operation(950), operation(1010)}) {
    events.push_back(one);
  }
  ASSERT_EQ(read_events_of(events), "");
  EXPECT_THAT(said(trace_), ElementsAre("0 0F0 4000", "0 0I0 0", "0 0W0 20000"));
  events = marks;
  for (const std::string& one : {launch(12, 1), kernel("gemm", 100, 7.5, 1), launch(1001, 2),
                                 kernel("gemm", 2000, 3, 2), kernel("unlaunched", 3000, 3, 3)}) {
    events.push_back(one);
  }
  ASSERT_EQ(read_events_of(events), "");
  EXPECT_THAT(said(trace_), ElementsAre("0 0F0 7500", "0 0I0 0", "0 0W0 3000"));
}

TEST_F(TorchTraceTest, has_steps_by_their_marks_or_from_task_to_task) {
  const std::vector<std::string> tasks = {
      mark("PP:0F0", 100, 5), operation(101), mark("PP:0F1", 110, 5), operation(111),
      mark("PP:0F0", 200, 5), operation(201), mark("PP:0F0", 300, 5), operation(301)};
  ASSERT_EQ(read_events_of(tasks), "");
  EXPECT_THAT(said(trace_), ElementsAre("0 0F0 4000", "0 0F1 4000", "1 0F0 4000", "2 0F0 4000"));
  std::vector<std::string> marked = tasks;
  marked.push_back(mark("ProfilerStep#12", 190, 20));  // marks may be in any order
  marked.push_back(mark("ProfilerStep#11", 90, 100));
  ASSERT_EQ(read_events_of(marked), "");
  EXPECT_THAT(said(trace_), ElementsAre("11 0F0 4000", "11 0F1 4000", "12 0F0 4000"));
  EXPECT_THAT(trace_.notes, ElementsAre(HasSubstr("1 tasks outside its marks of steps")));
  marked = {mark("PP:0F0", 100, 5), operation(101), mark("ProfilerStep#1", 0, 9)};
  EXPECT_EQ(read_events_of(marked), "no task is within its marks of steps, ProfilerStep#…");
}

TEST_F(TorchTraceTest, takes_no_cost_from_actions_that_are_no_single_task) {
  ASSERT_EQ(read_events_of({mark("PP:1UNSHARD", 0, 1), mark("PP:1SEND_F0", 10, 1),
                            mark("PP:1REDUCE_GRAD", 20, 1), mark("PP:(1F1;6B0)OVERLAP_F_B", 30, 9),
                            operation(31), mark("PP:6I0", 40, 9), operation(41)}),
            "");
  EXPECT_THAT(said(trace_), ElementsAre("0 6I0 8000"));
  EXPECT_THAT(trace_.notes,
              ElementsAre(HasSubstr("1 marks are of two tasks at once (OVERLAP_F_B)")));
  EXPECT_EQ(read_events_of({mark("PP:(1F1;6B0)OVERLAP_F_B", 30, 9), operation(31)}),
            "all of its marks are of two tasks at once (OVERLAP_F_B)");
  ASSERT_EQ(read_events_of(
                {mark("PP:1UNSHARD", 0, 5), operation(1), mark("PP:1F0", 10, 5), operation(11)}),
            "");
  EXPECT_THAT(trace_.notes, ElementsAre(HasSubstr("stages are sharded (FSDP)")));
}

TEST_F(TorchTraceTest, is_refused_where_marks_are_no_costs) {
  const std::string instead =
      ". Record a schedule that runs actions, which marks them as PP:2F0: with one stage on each "
      "rank, ScheduleInterleaved1F1B([stage], …) has the same F and B";
  const std::string path = specimen("gpipe.rank0.json");
  EXPECT_EQ(read_torch_trace(path).message(),
            path +
                ": its marks 'Forward 0' and 'Backward 0', as ScheduleGPipe makes them, name no "
                "stage, and the wait for the message is in them" +
                instead);
  EXPECT_EQ(read_events_of({operation(1)}),
            "no task of torch.distributed.pipelining is marked in it, as in runs of Schedule1F1B" +
                instead);
  EXPECT_EQ(read_events_of({mark("PP:0F0", 1, 1), operation(1), mark("nccl:send 0->1", 2, 1)}),
            "messages went by NCCL, and no kernel is in it: record with ProfilerActivity.CUDA too");
  EXPECT_EQ(read_events_of({mark("PP:0F0", 1, 1), operation(5)}),
            "no operator ('cpu_op') is within its marks: record with ProfilerActivity.CPU");
  EXPECT_EQ(read_events_of({mark("PP:0F0", 1, 1), operation(1), kernel("gemm", 1, 1, 1)}),
            "kernels are in it, and none was launched within a task's mark: the launches "
            "('cuda_runtime') of its marks were expected");
}

TEST_F(TorchTraceTest, is_refused_where_an_event_cannot_be_right) {
  const std::string rankless =
      "it does not say its rank, as 'distributedInfo' does of a profiler that starts after "
      "torch.distributed.init_process_group()";
  const std::vector<std::string> good = {mark("PP:0F0", 1, 1), operation(1)};
  EXPECT_EQ(read_events_of(good, "{}"), rankless);
  EXPECT_EQ(read_events_of(good, R"({"pg_config": [{"rank": 1}], "rank": "0"})"), rankless);
  EXPECT_EQ(read_events_of({mark("PP:0F0", 1, -0.5)}),
            "its event PP:0F0 has a negative duration: 'dur' from 0 was expected");
  EXPECT_EQ(read_events_of({kernel("gemm", 1, -1, 1)}),
            "its event gemm has a negative duration: 'dur' from 0 was expected");
  const std::string begun = R"({"ph": "X", "cat": "user_annotation", "name": "PP:0F0")";
  EXPECT_EQ(read_events_of({begun + R"(, "ts": 5})"}), "its event PP:0F0 has no duration 'dur'");
  EXPECT_EQ(read_events_of({begun + R"(, "ts": "5", "dur": 1})"}),
            "its event PP:0F0 has no time 'ts'");
  EXPECT_EQ(read_events_of({begun + R"(, "ts": 5e300, "dur": 1})"}),
            "its event PP:0F0 has no time 'ts'");
  EXPECT_EQ(read_events_of({begun + R"(, "ts": 18446744073709551615, "dur": 1})"}),
            "its event PP:0F0 has no time 'ts'");
}

TEST_F(TorchTraceTest, that_is_cut_off_anywhere_is_refused) {
  const std::string whole = text_of(specimen("gpipe.rank0.json"));
  const std::size_t end = whole.find_last_of('}');
  ASSERT_NE(end, whole.npos);
  for (std::size_t size = 1; size <= end; size += 97) {
    EXPECT_EQ(read_text_of(whole.substr(0, size)),
              "its JSON breaks off at byte " + std::to_string(size + 1) +
                  ": export_chrome_trace() had not written all of it");
  }
  EXPECT_EQ(read_text_of("{\"schemaVersion\": 1, traceEvents"), "it is no JSON at byte 24");
}

TEST_F(TorchTraceTest, is_told_from_one_of_ripeline_by_its_content) {
  AnyTrace trace;
  const std::string path = folder_.path() + "/any.json";
  const auto holds_torch = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_FALSE(read_any(path, trace).ok());  // each text lacks a necessary part
    return std::holds_alternative<TorchTrace>(trace);
  };
  EXPECT_TRUE(holds_torch(R"({"schemaVersion": 1, "traceEvents": []})"));
  EXPECT_TRUE(holds_torch(R"({"traceEvents": [{"otherData": 1}], "distributedInfo": {}})"));
  EXPECT_TRUE(holds_torch(R"({"schemaVersion": 1, "trace)"));
  EXPECT_TRUE(holds_torch("\x1f\x8b\x08"));
  EXPECT_EQ(read_any(path, trace).message(),
            path + ": it is compressed: unpack it with gunzip first");
  EXPECT_FALSE(holds_torch(R"({"otherData": {}, "traceEvents": [], "schemaVersion": 1})"));
  EXPECT_FALSE(holds_torch(R"({"traceEvents": [{"schemaVersion": 1}]})"));
  EXPECT_FALSE(holds_torch("[]"));
  ASSERT_EQ(read_any(specimen("on_a_gpu.json"), trace).message(), "");
  EXPECT_EQ(std::get<TorchTrace>(trace).rank, 2);
}

}  // namespace
}  // namespace ripeline::trace::torch_trace_test
