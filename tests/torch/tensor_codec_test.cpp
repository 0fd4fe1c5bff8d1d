// tensor_codec: what is sent is what arrives, and no bytes from outside do harm.
#include "runtime/torch/tensor_codec.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cstring>
#include <random>
#include <vector>

namespace ripeline::runtime {
namespace {

using testing::HasSubstr;

Payload encoded(const torch::Tensor& tensor) {
  Payload payload;
  const core::Status status = encode_tensor(tensor, payload);
  EXPECT_TRUE(status.ok()) << status.message();
  return payload;
}

std::string refusal(Payload payload) {
  torch::Tensor tensor;
  return decode_tensor(std::move(payload), tensor).message();
}

TEST(TensorCodec, every_type_and_shape_comes_back) {
  const std::vector<torch::ScalarType> types = {
      torch::kFloat32, torch::kFloat64, torch::kFloat16, torch::kBFloat16, torch::kInt64,
      torch::kInt32,   torch::kInt16,   torch::kInt8,    torch::kUInt8,    torch::kBool};
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {1}, {7}, {2, 3, 5}, {0}, {4, 0, 3}};
  for (torch::ScalarType type : types) {
    for (const auto& shape : shapes) {
      const torch::Tensor sent = (torch::rand(shape) * 100).to(type);
      torch::Tensor received;
      const core::Status status = decode_tensor(encoded(sent), received);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(received.scalar_type(), type);
      EXPECT_EQ(received.sizes(), sent.sizes());
      EXPECT_TRUE(torch::equal(received, sent));
    }
  }
}

TEST(TensorCodec, a_view_arrives_dense_and_without_its_graph) {
  const torch::Tensor base = torch::rand({4, 6}, torch::requires_grad());
  torch::Tensor received;
  ASSERT_TRUE(decode_tensor(encoded(base.t().slice(0, 1, 4)), received).ok());
  EXPECT_TRUE(received.is_contiguous());
  EXPECT_FALSE(received.requires_grad());
  EXPECT_TRUE(torch::equal(received, base.detach().t().slice(0, 1, 4)));
}

TEST(TensorCodec, copies_nothing) {
  const torch::Tensor sent = torch::rand({3, 5});
  const Payload payload = encoded(sent);
  ASSERT_EQ(payload.parts.size(), 1U);
  EXPECT_EQ(payload.parts[0].data, static_cast<const std::byte*>(sent.const_data_ptr()));
  EXPECT_EQ(payload.parts[0].size, sent.nbytes());
  EXPECT_EQ(payload.head.size(), 8 + 2 * sizeof(std::int64_t));
  torch::Tensor received;
  ASSERT_TRUE(decode_tensor(payload, received).ok());
  EXPECT_EQ(received.const_data_ptr(), sent.const_data_ptr());
}

TEST(TensorCodec, a_part_is_kept_as_long_as_a_tensor_that_was_decoded) {
  int ended = 0;
  std::vector<float> data = {1, 1, 1};
  Payload payload = encoded(torch::ones({3}));
  payload.parts[0] = {.data = reinterpret_cast<std::byte*>(data.data()),
                      .size = data.size() * sizeof(float),
                      .keeper = {&data, [&ended](void*) { ++ended; }}};
  torch::Tensor received;
  ASSERT_TRUE(decode_tensor(std::move(payload), received).ok());
  EXPECT_EQ(ended, 0);
  const torch::Tensor view = received.slice(0, 1, 3);
  received.reset();
  EXPECT_EQ(ended, 0) << "the view is of it, too";
  EXPECT_TRUE(torch::equal(view, torch::ones({2})));
}

TEST(TensorCodec, a_payload_outlives_its_tensor_and_a_decoded_tensor_its_payload) {
  torch::Tensor received;
  {
    Payload payload = encoded(torch::ones({3}));
    ASSERT_TRUE(decode_tensor(std::move(payload), received).ok());
  }
  EXPECT_TRUE(torch::equal(received, torch::ones({3})));
}

TEST(TensorCodec, what_has_no_payload_is_refused) {
  Payload payload;
  EXPECT_FALSE(encode_tensor(torch::Tensor(), payload).ok());
  EXPECT_THAT(encode_tensor(torch::rand({2}).to(torch::kComplexFloat), payload).message(),
              HasSubstr("no payload for a tensor"));
  EXPECT_FALSE(encode_tensor(torch::eye(2).to_sparse(), payload).ok());
}

TEST(TensorCodec, malformed_payloads_are_named) {
  const Payload good = encoded(torch::ones({2, 3}));
  EXPECT_THAT(refusal({}), HasSubstr("does not begin as one"));
  Payload bad = good;
  for (const std::size_t at : {0, 3, 6, 7}) {
    bad = good;
    bad.head[at] = std::byte{'X'};
    EXPECT_THAT(refusal(bad), HasSubstr("does not begin as one")) << at;
  }
  bad = good;
  bad.head[4] = std::byte{77};
  EXPECT_THAT(refusal(bad), HasSubstr("unknown type 77"));
  bad = good;
  bad.head[5] = std::byte{17};
  EXPECT_THAT(refusal(bad), HasSubstr("17 dimensions"));
  bad = good;
  bad.head.resize(12);
  EXPECT_THAT(refusal(bad), HasSubstr("a head of 12 bytes for 2 dimensions"));
  bad = good;
  bad.head.resize(25);
  EXPECT_THAT(refusal(bad), HasSubstr("a head of 25 bytes for 2 dimensions"));
  bad = good;
  --bad.parts[0].size;
  EXPECT_THAT(refusal(bad), HasSubstr("23 bytes of data, the shape needs 24"));
  bad = good;
  bad.parts.push_back(bad.parts[0]);
  EXPECT_THAT(refusal(bad), HasSubstr("2 parts, where one in the host's memory was expected"));
  bad.parts.clear();
  EXPECT_THAT(refusal(bad), HasSubstr("0 parts"));
  bad = good;
  bad.parts[0].device = 0;
  EXPECT_FALSE(refusal(bad).empty()) << "it cannot be read here";
  bad = encoded(torch::ones({2}, torch::kBool));
  bad.parts[0].data[1] = std::byte{2};
  EXPECT_THAT(refusal(bad), HasSubstr("neither 0 nor 1"));
}

TEST(TensorCodec, shapes_that_overflow_are_refused) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1, 3},
        {std::int64_t{1} << 62, 4},
        {std::int64_t{1} << 40, std::int64_t{1} << 40},
        {0, std::int64_t{1} << 62, std::int64_t{1} << 62}}) {
    Payload payload = encoded(torch::ones(std::vector<std::int64_t>(shape.size(), 1)));
    std::memcpy(payload.head.data() + 8, shape.data(), shape.size() * sizeof(std::int64_t));
    EXPECT_THAT(refusal(payload), HasSubstr("no such shape")) << shape[0];
  }
}

TEST(TensorCodec, random_damage_never_crashes) {
  std::mt19937_64 random(7);  // the seed
  const Payload good = encoded(torch::rand({3, 4, 5}));
  for (int round = 0; round < 20'000; ++round) {
    Payload payload = good;
    for (int i = 0; i < 3; ++i) {
      payload.head[random() % payload.head.size()] = static_cast<std::byte>(random());
    }
    if (round % 4 == 0) payload.head.resize(random() % (good.head.size() + 8));
    if (round % 4 == 1) payload.parts[0].size = random() % good.parts[0].size;
    if (round % 64 == 2) payload.parts.resize(random() % 3);
    torch::Tensor tensor;
    if (decode_tensor(std::move(payload), tensor).ok()) {
      EXPECT_EQ(tensor.numel(), tensor.flatten().size(0));
    }
  }
}

}  // namespace
}  // namespace ripeline::runtime
